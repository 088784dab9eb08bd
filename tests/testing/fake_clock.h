#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "storage/clock.h"

namespace snowlease::testing {

// A clock that only moves when a test moves it. Thread-safe; wakes those who wait
// in WaitUntil. Must outlive its waiters.
class FakeClock final : public storage::Clock {
 public:
  // Starts at some time in 2025 unless told otherwise.
  explicit FakeClock(storage::HostTime start = {1'750'000'000'000});

  storage::HostTime Now() const override;
  storage::SteadyTime SteadyNow() const override;
  // Returns when the condition is notified, when the fake steady clock reaches `until`,
  // and now and then without a reason.
  void WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                 storage::SteadyTime until) override;

  // Moves wall and steady clock.
  void Advance(storage::Millis by);
  // Moves the wall clock alone, as an operator or NTP does.
  void SetHost(storage::HostTime now);
  void StepHost(storage::Millis by);
  // Moves the steady clock alone.
  void AdvanceSteady(storage::Millis by);

  // Blocks until at least `count` threads wait for this clock; false after 10 s of
  // real time.
  bool AwaitWaiters(size_t count);

 private:
  void WakeAll();  // with mutex_ held

  mutable std::mutex mutex_;
  std::condition_variable waiters_changed_;
  storage::HostTime host_;
  storage::SteadyTime steady_;
  std::vector<std::condition_variable*> waiters_;
};

}  // namespace snowlease::testing
