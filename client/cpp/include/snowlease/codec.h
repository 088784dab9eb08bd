#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

// Takes ids apart and puts them together; needs no server.

namespace snowlease::client {

enum class LayoutFamily : uint8_t {
  kSnowflake,  // positive 64-bit integer
  kSafeJs,     // integer that a JavaScript number holds exactly: at most 53 bits
  kRadix62,    // text of 0-9A-Za-z that sorts by time
};

// How an id is made of a timestamp, a machine id and a sequence.
struct Layout {
  LayoutFamily family = LayoutFamily::kSnowflake;
  int timestamp_bits = 41;
  int machine_bits = 10;
  int sequence_bits = 12;
  // Start of tick 0, since the Unix epoch.
  std::chrono::milliseconds epoch{1577203200000};
  // Length of a tick: 1 ms or 1 s.
  std::chrono::milliseconds tick{1};

  static Layout SnowflakeMs();
  static Layout SnowflakeSeconds();
  static Layout SafeJsMs();
  static Layout SafeJsSeconds();
  static Layout Radix62();

  // By name: snowflake-ms (or snowflake), snowflake-s, safe-js-ms (or safe-js),
  // safe-js-s, radix62. INVALID_ARGUMENT lists the names.
  static absl::StatusOr<Layout> ByName(std::string_view name);
};

// What an id says.
struct IdParts {
  // Start of the id's tick, ms since the Unix epoch.
  int64_t timestamp_ms = 0;
  uint32_t machine_id = 0;
  uint64_t sequence = 0;

  friend bool operator==(const IdParts&, const IdParts&) = default;
};

// Encodes, decodes and writes ids of one layout for people. Everything is checked
// both ways: what does not fit is OUT_OF_RANGE, what cannot be read is
// INVALID_ARGUMENT; nothing is ever negative, truncated or rounded. Immutable.
class Codec {
 public:
  // INVALID_ARGUMENT for bits or an epoch that make no layout.
  static absl::StatusOr<Codec> Create(const Layout& layout);

  // Integer layouts; FAILED_PRECONDITION for radix62.
  absl::StatusOr<int64_t> EncodeInteger(const IdParts& parts) const;
  absl::StatusOr<IdParts> DecodeInteger(int64_t id) const;

  // Every layout; integers in decimal digits.
  absl::StatusOr<std::string> Encode(const IdParts& parts) const;
  absl::StatusOr<IdParts> Decode(std::string_view id) const;

  // yyyyMMddHHmmssSSS-machine-sequence, in UTC.
  absl::StatusOr<std::string> FormatFriendly(const IdParts& parts) const;
  absl::StatusOr<IdParts> ParseFriendly(std::string_view text) const;

  const Layout& layout() const { return layout_; }
  // Start of the last tick that the layout can express, ms since the Unix epoch.
  int64_t last_timestamp_ms() const;

 private:
  // The parts as they are stored: ticks since the epoch in place of a timestamp.
  struct Fields {
    uint64_t ticks;
    uint64_t machine_id;
    uint64_t sequence;
  };

  explicit Codec(const Layout& layout) : layout_(layout) {}
  absl::StatusOr<Fields> ToFields(const IdParts& parts) const;
  absl::StatusOr<IdParts> ToParts(const Fields& fields) const;
  absl::StatusOr<IdParts> DecodeRadix62(std::string_view id) const;

  Layout layout_;
};

}  // namespace snowlease::client
