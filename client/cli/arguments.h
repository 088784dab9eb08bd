#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/duration.pb.h"

// Values of the command line and their text, both ways. An error says what is
// wrong and how to write it.

namespace snowlease::cli {

// A number from `least` to `most` in decimal digits.
absl::StatusOr<uint64_t> ParseNumber(const std::string& text, uint64_t least, uint64_t most);
// 1500ms, 30s, 1.5m, 2h or 0; in ms.
absl::StatusOr<int64_t> ParseDuration(const std::string& text);
// ms since the Unix epoch, `now`, or `none` (0).
absl::StatusOr<int64_t> ParseTimestamp(const std::string& text, int64_t now_ms);
// key=value each.
absl::StatusOr<std::map<std::string, std::string>> ParsePairs(
    const std::vector<std::string>& pairs);
// Machine ids and ranges: 3 7 10-19.
absl::StatusOr<std::vector<uint32_t>> ParseMachineIds(const std::vector<std::string>& texts);

google::protobuf::Duration ToDuration(int64_t ms);
// 1500ms, 30s, 5m, 2h: the largest unit that is exact.
std::string FormatDuration(const google::protobuf::Duration& duration);
// 2026-07-30T12:00:00.123Z
std::string FormatTime(int64_t unix_ms);
// The same, `none` for 0: a floor or watermark under which nothing was issued.
std::string FormatMark(int64_t unix_ms);
// As the shell would read it back.
std::string ShellQuote(const std::string& text);

}  // namespace snowlease::cli
