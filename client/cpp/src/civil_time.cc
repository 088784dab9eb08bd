#include "client/cpp/src/civil_time.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace snowlease::client {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr int64_t kDayMs = 24LL * 60 * 60 * 1000;
constexpr size_t kLength = 17;

int64_t PastYear9999() {
  const year_month_day day{std::chrono::year(10000), std::chrono::January, std::chrono::day(1)};
  return sys_days(day).time_since_epoch().count() * kDayMs;
}

int Number(std::string_view text, size_t from, size_t length) {
  int value = 0;
  std::from_chars(text.data() + from, text.data() + from + length, value);
  return value;
}

}  // namespace

std::optional<std::string> FormatCompactTime(int64_t unix_ms) {
  if (unix_ms < 0 || unix_ms >= PastYear9999()) return std::nullopt;
  const year_month_day date{sys_days(days(unix_ms / kDayMs))};
  const std::chrono::hh_mm_ss time{milliseconds(unix_ms % kDayMs)};
  char text[64];
  const int length = std::snprintf(
      text, sizeof(text), "%04d%02u%02u%02d%02d%02d%03d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return std::string(text, static_cast<size_t>(length));
}

std::optional<int64_t> ParseCompactTime(std::string_view text) {
  const auto is_digit = [](char character) { return character >= '0' && character <= '9'; };
  if (text.size() != kLength || !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  const year_month_day date{std::chrono::year(Number(text, 0, 4)),
                            std::chrono::month(static_cast<unsigned>(Number(text, 4, 2))),
                            std::chrono::day(static_cast<unsigned>(Number(text, 6, 2)))};
  const int hour = Number(text, 8, 2);
  const int minute = Number(text, 10, 2);
  const int second = Number(text, 12, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t day = sys_days(date).time_since_epoch().count();
  if (day < 0) return std::nullopt;
  return day * kDayMs + ((hour * 60 + minute) * 60 + second) * 1000LL + Number(text, 14, 3);
}

}  // namespace snowlease::client
