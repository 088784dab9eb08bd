#include "snowlease/clock.h"

#include <condition_variable>
#include <mutex>

namespace snowlease::client {
namespace {

class RealClock : public Clock {
 public:
  std::chrono::milliseconds Now() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
  }

  std::chrono::nanoseconds SteadyNow() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  bool Wait(std::chrono::nanoseconds duration, std::stop_token stop) override {
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    condition.wait_for(lock, stop, duration, [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace

Clock* Clock::Real() {
  static RealClock* const clock = new RealClock;
  return clock;
}

}  // namespace snowlease::client
