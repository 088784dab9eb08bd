#pragma once

#include <atomic>

#include "tests/storage/store_harness.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::testing {

// The clocks of a harness whose store takes its time from the test.
class FakeClockHarness : public StoreHarness {
 public:
  storage::ClientTime Now() override { return {clock_.Now().ms}; }
  storage::StoreTime StoreNow() override { return {clock_.Now().ms + store_ahead_ms_}; }
  void Advance(storage::Millis by) override { clock_.Advance(by); }
  void StepStoreClock(storage::Millis by) override { store_ahead_ms_ += by.count(); }
  const storage::Clock* FrozenHostClock() const override { return &clock_; }

 protected:
  FakeClock* clock() { return &clock_; }

 private:
  FakeClock clock_;
  std::atomic<int64_t> store_ahead_ms_{0};
};

}  // namespace snowlease::testing
