#include "tests/testing/fake_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace snowlease::testing {
namespace {

using storage::HostTime;
using storage::Millis;

TEST(FakeClockTest, AdvanceMovesBothClocksAndStepOnlyTheWall) {
  FakeClock clock(HostTime{1000});
  const storage::SteadyTime start = clock.SteadyNow();
  clock.Advance(Millis(5));
  EXPECT_EQ(clock.Now(), HostTime{1005});
  EXPECT_EQ(clock.SteadyNow() - start, Millis(5));
  clock.StepHost(Millis(-3));
  EXPECT_EQ(clock.Now(), HostTime{1002});
  EXPECT_EQ(clock.SteadyNow() - start, Millis(5));
  clock.AdvanceSteady(Millis(1));
  EXPECT_EQ(clock.SteadyNow() - start, Millis(6));
}

TEST(FakeClockTest, WaiterWakesWhenTheClockReachesItsTime) {
  FakeClock clock;
  std::mutex mutex;
  std::condition_variable condition;
  const storage::SteadyTime until = clock.SteadyNow() + Millis(100);
  bool done = false;
  std::thread waiter([&] {
    std::unique_lock lock(mutex);
    while (clock.SteadyNow() < until) clock.WaitUntil(condition, lock, until);
    done = true;
  });
  ASSERT_TRUE(clock.AwaitWaiters(1));
  clock.Advance(Millis(99));
  {
    const std::lock_guard lock(mutex);
    EXPECT_FALSE(done);
  }
  clock.Advance(Millis(1));
  waiter.join();
  EXPECT_TRUE(done);
}

TEST(FakeClockTest, NotificationEndsTheWaitWithoutMovingTheClock) {
  FakeClock clock;
  std::mutex mutex;
  std::condition_variable condition;
  bool woken = false;
  std::thread waiter([&] {
    std::unique_lock lock(mutex);
    while (!woken) clock.WaitUntil(condition, lock, storage::SteadyTime::max());
  });
  ASSERT_TRUE(clock.AwaitWaiters(1));
  {
    const std::lock_guard lock(mutex);
    woken = true;
  }
  condition.notify_all();
  waiter.join();
}

}  // namespace
}  // namespace snowlease::testing
