#pragma once

#include <chrono>
#include <stop_token>

namespace snowlease::client {

// Where the client takes the time from and waits; replaced by a fake in tests.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // This host's wall clock, ms since the Unix epoch.
  virtual std::chrono::milliseconds Now() const = 0;
  // This host's monotonic clock; its zero means nothing.
  virtual std::chrono::nanoseconds SteadyNow() const = 0;
  // Waits; false as soon as `stop` is requested.
  virtual bool Wait(std::chrono::nanoseconds duration, std::stop_token stop) = 0;

  // The real one; lives as long as the process.
  static Clock* Real();
};

}  // namespace snowlease::client
