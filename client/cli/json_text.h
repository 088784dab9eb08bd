#pragma once

#include <string>

// JSON as text: to write it and to lay it out, without a document in memory.

namespace snowlease::cli {

// A JSON string with its quotes.
std::string JsonString(const std::string& text);
// Indented by two spaces, with a line end; `json` is valid.
std::string PrettyJson(const std::string& json);
// The same data as YAML: every text quoted, so that none reads as anything else.
std::string ToYaml(const std::string& json);

}  // namespace snowlease::cli
