#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/time_point.h"

// How values are written in flags, environment variables and files. A parser that
// fails answers none and tells in `*fix` what a good value looks like.

namespace snowlease::service {

// "500ms", "10s", "5m", "24h" or sums of them ("1h30m"); "0" needs no unit.
std::optional<storage::Millis> ParseDuration(std::string_view text, std::string* fix);
// The shortest such text, largest unit first.
std::string FormatDuration(storage::Millis duration);

// true or false.
std::optional<bool> ParseBool(std::string_view text, std::string* fix);
// A whole number in decimal.
std::optional<int64_t> ParseInteger(std::string_view text, std::string* fix);

// Where a server listens.
struct ListenAddress {
  std::string host;  // without brackets
  int port = 0;      // 0: any free one

  bool IsLoopback() const;
  bool IsWildcard() const;  // 0.0.0.0 or ::
  // "host:port", brackets around an IPv6 host.
  std::string ToString() const;
};
// "127.0.0.1:7070", "localhost:0", "[::]:7070".
std::optional<ListenAddress> ParseListenAddress(std::string_view text, std::string* fix);

// Items between commas, blanks around them removed, empty ones left out.
std::vector<std::string> SplitList(std::string_view text);

// The candidate that `word` is probably a misspelling of; none when none is near.
std::optional<std::string> Suggest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace snowlease::service
