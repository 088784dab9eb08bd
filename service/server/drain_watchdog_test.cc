#include "service/server/drain_watchdog.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/testing/fake_clock.h"

namespace snowlease::service {
namespace {

using std::chrono_literals::operator""s;

TEST(DrainWatchdogTest, BitesWhenTheDrainIsNotOverAtTheDeadline) {
  snowlease::testing::FakeClock clock;
  std::promise<void> bitten;
  const DrainWatchdog watchdog(&clock, clock.SteadyNow() + 20s, [&] { bitten.set_value(); });
  auto bite = bitten.get_future();
  clock.Advance(storage::Millis(19'999));
  EXPECT_EQ(bite.wait_for(0s), std::future_status::timeout);
  clock.Advance(storage::Millis(1));
  EXPECT_EQ(bite.wait_for(10s), std::future_status::ready);
}

TEST(DrainWatchdogTest, LeavesADrainThatEndsInPeace) {
  snowlease::testing::FakeClock clock;
  bool bitten = false;
  {
    const DrainWatchdog watchdog(&clock, clock.SteadyNow() + 20s, [&] { bitten = true; });
  }
  clock.Advance(storage::Millis(60'000));
  EXPECT_FALSE(bitten);
}

}  // namespace
}  // namespace snowlease::service
