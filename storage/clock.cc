#include "storage/clock.h"

namespace snowlease::storage {
namespace {

class RealClock final : public Clock {
 public:
  HostTime Now() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<Millis>(since_epoch).count()};
  }

  SteadyTime SteadyNow() const override { return std::chrono::steady_clock::now(); }

  void WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                 SteadyTime until) override {
    condition.wait_until(lock, until);
  }
};

}  // namespace

Clock* Clock::Real() {
  static RealClock clock;
  return &clock;
}

}  // namespace snowlease::storage
