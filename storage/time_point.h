#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace snowlease::storage {

using Millis = std::chrono::milliseconds;

// A point in time of one clock, in whole milliseconds since the Unix epoch, UTC.
// Points of different clocks are different types and do not compare, so that no
// rule can mix them up by accident.
template <typename ClockTag>
struct TimePoint {
  int64_t ms = 0;

  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;
  friend constexpr TimePoint operator+(TimePoint t, Millis d) { return {t.ms + d.count()}; }
  friend constexpr TimePoint operator-(TimePoint t, Millis d) { return {t.ms - d.count()}; }
  friend constexpr Millis operator-(TimePoint a, TimePoint b) { return Millis(a.ms - b.ms); }
};

// The database's clock, read inside the transaction that decides.
using StoreTime = TimePoint<struct StoreClockTag>;
// The clock of the host that the server runs on.
using HostTime = TimePoint<struct HostClockTag>;
// The scale of ids: clients' wall clocks, floors, window ends and watermarks.
using ClientTime = TimePoint<struct ClientClockTag>;

}  // namespace snowlease::storage
