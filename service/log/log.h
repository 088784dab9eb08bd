#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "service/config/config.h"

// Log lines of the server: a message and fields, on standard error.

namespace snowlease::service {

// Sends all log lines, those of libraries that use spdlog too, to standard error in
// the given format. Without it spdlog's own defaults hold.
void StartLogging(LogLevel level, LogFormat format);

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

// One line: the message and fields as key=value, or one JSON object. Thread-safe.
void Log(LogLevel level, std::string_view message, LogFields fields = {});

// What Log hands to the formatters; public for their tests.
std::string LogPayload(std::string_view message, LogFields fields);
// Payload as `message key=value`, or as `"message":"...","key":"..."`.
std::string PayloadAsText(std::string_view payload);
std::string PayloadAsJson(std::string_view payload);

// The text as a JSON string with its quotes; bytes that are no UTF-8 are replaced.
std::string JsonQuoted(std::string_view text);

}  // namespace snowlease::service
