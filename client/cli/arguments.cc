#include "client/cli/arguments.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace snowlease::cli {
namespace {

constexpr size_t kMostMachineIds = 4096;
constexpr uint64_t kLargestMachineId = (1u << 30) - 1;
constexpr double kLongestDurationMs = 366.0 * 24 * 3600 * 1000;
constexpr char kSafeInShell[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";

bool IsDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::optional<double> UnitInMs(const std::string& unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<uint64_t> ParseNumber(const std::string& text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  if (!IsDigits(text) || !absl::SimpleAtoi(text, &value) || value < least || value > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no number from ", least, " to ", most));
  }
  return value;
}

absl::StatusOr<int64_t> ParseDuration(const std::string& text) {
  if (text == "0") return 0;
  const size_t end = text.find_first_not_of("0123456789.");
  double number = 0;
  const auto unit = end == text.npos ? std::nullopt : UnitInMs(text.substr(end));
  if (!unit || !absl::SimpleAtod(text.substr(0, end), &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no duration: write a number and ms, s, m or h, e.g. 30s"));
  }
  const double ms = number * *unit;
  if (ms > kLongestDurationMs) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is longer than a year"));
  }
  if (std::abs(ms - std::round(ms)) > 1e-6) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no whole number of ms"));
  }
  return std::llround(ms);
}

absl::StatusOr<int64_t> ParseTimestamp(const std::string& text, int64_t now_ms) {
  if (text == "now") return now_ms;
  if (text == "none") return 0;
  int64_t value = 0;
  if (!IsDigits(text) || !absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no timestamp: write ms since the Unix epoch, now, or none"));
  }
  return value;
}

absl::StatusOr<std::map<std::string, std::string>> ParsePairs(
    const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> parsed;
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0) {
      return absl::InvalidArgumentError(absl::StrCat("'", pair, "' is not of the form key=value"));
    }
    if (!parsed.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", pair.substr(0, equals), "' is given twice"));
    }
  }
  return parsed;
}

absl::StatusOr<std::vector<uint32_t>> ParseMachineIds(const std::vector<std::string>& texts) {
  std::vector<uint32_t> ids;
  for (const std::string& text : texts) {
    const size_t dash = text.find('-');
    const auto first = ParseNumber(text.substr(0, dash), 0, kLargestMachineId);
    const auto last =
        dash == text.npos ? first : ParseNumber(text.substr(dash + 1), 0, kLargestMachineId);
    if (!first.ok() || !last.ok() || *first > *last) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is neither a machine id nor a range like 10-19"));
    }
    if (*last - *first + 1 + ids.size() > kMostMachineIds) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMostMachineIds, " machine ids: do it in several commands"));
    }
    for (uint64_t id = *first; id <= *last; ++id) ids.push_back(static_cast<uint32_t>(id));
  }
  return ids;
}

google::protobuf::Duration ToDuration(int64_t ms) {
  google::protobuf::Duration duration;
  duration.set_seconds(ms / 1000);
  duration.set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
  return duration;
}

std::string FormatDuration(const google::protobuf::Duration& duration) {
  const int64_t ms = duration.seconds() * 1000 + duration.nanos() / 1'000'000;
  if (ms == 0) return "0";
  if (ms % 1000 != 0) return absl::StrCat(ms, "ms");
  const int64_t seconds = ms / 1000;
  if (seconds % 3600 == 0) return absl::StrCat(seconds / 3600, "h");
  if (seconds % 60 == 0) return absl::StrCat(seconds / 60, "m");
  return absl::StrCat(seconds, "s");
}

std::string FormatTime(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(unix_ms),
                          absl::UTCTimeZone());
}

std::string FormatMark(int64_t unix_ms) { return unix_ms == 0 ? "none" : FormatTime(unix_ms); }

std::string ShellQuote(const std::string& text) {
  if (!text.empty() && text.find_first_not_of(kSafeInShell) == text.npos) return text;
  std::string quoted = "'";
  for (const char character : text) {
    if (character == '\'') {
      quoted += "'\\''";
    } else {
      quoted += character;
    }
  }
  return quoted + "'";
}

}  // namespace snowlease::cli
