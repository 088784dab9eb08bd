#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snowlease::client {

// yyyyMMddHHmmssSSS in UTC; none before 1970 or past the year 9999.
std::optional<std::string> FormatCompactTime(int64_t unix_ms);
// None when it is no such time, e.g. February 30.
std::optional<int64_t> ParseCompactTime(std::string_view text);

}  // namespace snowlease::client
