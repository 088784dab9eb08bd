#include "service/http/call_limit.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/testing/fake_clock.h"

namespace snowlease::service {
namespace {

using storage::Millis;

class CallLimitTest : public ::testing::Test {
 protected:
  snowlease::testing::FakeClock clock_;
  CallLimit limit_{2, &clock_};
};

TEST_F(CallLimitTest, PlacesAreGivenBack) {
  for (int i = 0; i < 10; ++i) {
    const auto first = limit_.Enter();
    const auto second = limit_.Enter();
    EXPECT_TRUE(first && second);
  }
}

TEST_F(CallLimitTest, BurstWaitsItsTurn) {
  auto first = limit_.Enter();
  const auto second = limit_.Enter();
  std::future<bool> third =
      std::async(std::launch::async, [this] { return limit_.Enter().has_value(); });
  EXPECT_TRUE(clock_.AwaitWaiters(1));
  first.reset();
  EXPECT_TRUE(third.get());
}

TEST_F(CallLimitTest, StalledCallsRefuseNewOnesAtOnce) {
  const auto first = limit_.Enter();
  const auto second = limit_.Enter();
  clock_.Advance(Millis(250));
  EXPECT_FALSE(limit_.Enter());
}

TEST_F(CallLimitTest, CallThatWaitsIsRefusedOnceTheOthersAreStalled) {
  const auto first = limit_.Enter();
  const auto second = limit_.Enter();
  std::future<bool> third =
      std::async(std::launch::async, [this] { return limit_.Enter().has_value(); });
  EXPECT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(Millis(250));
  EXPECT_FALSE(third.get());
}

TEST_F(CallLimitTest, LimitOfNoneRefusesAll) {
  CallLimit none(0, &clock_);
  EXPECT_FALSE(none.Enter());
}

}  // namespace
}  // namespace snowlease::service
