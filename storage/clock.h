#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "storage/time_point.h"

namespace snowlease::storage {

using SteadyTime = std::chrono::steady_clock::time_point;

// The only way to ask for the time or to wait for it; owned by the environment,
// passed by pointer, replaced by a fake in tests. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Wall clock of this host.
  virtual HostTime Now() const = 0;
  // Monotonic clock of this host, for waits and deadlines.
  virtual SteadyTime SteadyNow() const = 0;
  // Waits on `condition` until it is notified or `until` has passed; may wake
  // early. The lock is held again on return.
  virtual void WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                         SteadyTime until) = 0;

  // The host's real clock; lives as long as the process.
  static Clock* Real();
};

}  // namespace snowlease::storage
