#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "storage/clock.h"

namespace snowlease::service {

// Calls `expired`, once, when it still lives at the deadline; on a thread of its own.
// For a drain that waits for a store which never answers. The clock must outlive it.
class DrainWatchdog {
 public:
  DrainWatchdog(storage::Clock* clock, storage::SteadyTime deadline, std::function<void()> expired);
  ~DrainWatchdog();

 private:
  void Run(storage::SteadyTime deadline, const std::function<void()>& expired);

  storage::Clock* const clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace snowlease::service
