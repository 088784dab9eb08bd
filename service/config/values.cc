#include "service/config/values.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace snowlease::service {
namespace {

using storage::Millis;

struct Unit {
  std::string_view name;
  int64_t ms;
};

constexpr Unit kUnits[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
constexpr char kDurationFix[] = "write a duration such as 500ms, 10s, 5m or 24h";
constexpr char kAddressFix[] = "write host:port such as 127.0.0.1:7070 or [::]:7070";

std::string_view TakeWhile(std::string_view& text, bool digits) {
  size_t size = 0;
  while (size < text.size() && (text[size] >= '0' && text[size] <= '9') == digits) ++size;
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

template <typename Integer>
std::optional<Integer> ParseDecimal(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> MsOfUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.ms;
  }
  return std::nullopt;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<Millis> ParseDuration(std::string_view text, std::string* fix) {
  *fix = kDurationFix;
  if (text == "0") return Millis(0);
  if (text.empty()) return std::nullopt;
  int64_t total = 0;
  while (!text.empty()) {
    const std::optional<int64_t> number = ParseDecimal<int64_t>(TakeWhile(text, true));
    const std::optional<int64_t> unit = MsOfUnit(TakeWhile(text, false));
    if (!number || !unit) return std::nullopt;
    int64_t part = 0;
    if (__builtin_mul_overflow(*number, *unit, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return std::nullopt;
    }
  }
  return Millis(total);
}

std::string FormatDuration(Millis duration) {
  int64_t left = duration.count();
  if (left == 0) return "0s";
  std::string text;
  for (const Unit& unit : kUnits) {
    if (left / unit.ms == 0) continue;
    text += std::to_string(left / unit.ms) + std::string(unit.name);
    left %= unit.ms;
  }
  return text;
}

std::optional<bool> ParseBool(std::string_view text, std::string* fix) {
  if (text == "true") return true;
  if (text == "false") return false;
  *fix = "write true or false";
  return std::nullopt;
}

std::optional<int64_t> ParseInteger(std::string_view text, std::string* fix) {
  *fix = "write a whole number";
  return ParseDecimal<int64_t>(text);
}

bool ListenAddress::IsLoopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool ListenAddress::IsWildcard() const { return host == "0.0.0.0" || host == "::"; }

std::string ListenAddress::ToString() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<ListenAddress> ParseListenAddress(std::string_view text, std::string* fix) {
  *fix = kAddressFix;
  ListenAddress address;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find("]:");
    if (end == std::string_view::npos) return std::nullopt;
    address.host = std::string(text.substr(1, end - 1));
    rest = text.substr(end + 2);
    if (address.host.find(':') == std::string::npos) return std::nullopt;
  } else {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || text.find(':') != colon) return std::nullopt;
    address.host = std::string(text.substr(0, colon));
    rest = text.substr(colon + 1);
  }
  if (address.host.find_first_of("/ \t") != std::string::npos) return std::nullopt;
  const std::optional<uint16_t> port = ParseDecimal<uint16_t>(rest);
  if (!port || address.host.empty()) return std::nullopt;
  address.port = *port;
  return address;
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t first = item.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    const size_t last = item.find_last_not_of(" \t");
    items.emplace_back(item.substr(first, last - first + 1));
  }
  return items;
}

std::optional<std::string> Suggest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(2, word.size() / 4) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace snowlease::service
