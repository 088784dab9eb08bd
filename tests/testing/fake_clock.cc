#include "tests/testing/fake_clock.h"

#include <algorithm>
#include <chrono>

namespace snowlease::testing {
namespace {

using storage::HostTime;
using storage::Millis;
using storage::SteadyTime;

constexpr std::chrono::hours kSteadyStart{1000};
constexpr Millis kRecheck{2};
constexpr std::chrono::seconds kPatience{10};

}  // namespace

FakeClock::FakeClock(HostTime start) : host_(start), steady_(SteadyTime(kSteadyStart)) {}

HostTime FakeClock::Now() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

SteadyTime FakeClock::SteadyNow() const {
  const std::lock_guard lock(mutex_);
  return steady_;
}

void FakeClock::WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                          SteadyTime until) {
  {
    const std::lock_guard own(mutex_);
    if (steady_ >= until) return;
    waiters_.push_back(&condition);
    waiters_changed_.notify_all();
  }
  // Advance cannot take the waiter's lock (the order of locks would turn round), so
  // its notification may fall between registering and waiting; and one that falls
  // on the end of a short wait is not told from none. So the waiter wakes early, now
  // and then, and looks for itself.
  condition.wait_for(lock, kRecheck);
  const std::lock_guard own(mutex_);
  waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &condition));
}

void FakeClock::Advance(Millis by) {
  const std::lock_guard lock(mutex_);
  host_ = host_ + by;
  steady_ += by;
  WakeAll();
}

void FakeClock::SetHost(HostTime now) {
  const std::lock_guard lock(mutex_);
  host_ = now;
  WakeAll();
}

void FakeClock::StepHost(Millis by) {
  const std::lock_guard lock(mutex_);
  host_ = host_ + by;
  WakeAll();
}

void FakeClock::AdvanceSteady(Millis by) {
  const std::lock_guard lock(mutex_);
  steady_ += by;
  WakeAll();
}

bool FakeClock::AwaitWaiters(size_t count) {
  std::unique_lock lock(mutex_);
  return waiters_changed_.wait_for(lock, kPatience, [&] { return waiters_.size() >= count; });
}

void FakeClock::WakeAll() {
  for (std::condition_variable* waiter : waiters_) waiter->notify_all();
}

}  // namespace snowlease::testing
