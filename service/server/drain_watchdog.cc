#include "service/server/drain_watchdog.h"

#include <utility>

namespace snowlease::service {

DrainWatchdog::DrainWatchdog(storage::Clock* clock, storage::SteadyTime deadline,
                             std::function<void()> expired)
    : clock_(clock),
      thread_([this, deadline, expired = std::move(expired)] { Run(deadline, expired); }) {}

DrainWatchdog::~DrainWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void DrainWatchdog::Run(storage::SteadyTime deadline, const std::function<void()>& expired) {
  std::unique_lock lock(mutex_);
  while (!done_ && clock_->SteadyNow() < deadline) clock_->WaitUntil(wake_, lock, deadline);
  if (!done_) expired();
}

}  // namespace snowlease::service
