#include <gtest/gtest.h>

#include <set>

#include "service/batching/core_harness.h"
#include "service/batching/group_committer_core.h"

namespace snowlease::service {
namespace {

using storage::Millis;
using testing::CoreHarness;

// ---- bounds ----

TEST(GroupCommitterCoreBounds, FullQueueRefusesAtOnceWithPushback) {
  CoreHarness harness({.max_queue = 3});
  harness.Renew("a", 0);
  for (uint32_t id = 1; id <= 3; ++id) harness.Renew("a", id);
  EXPECT_FALSE(harness.refused());
  harness.Renew("a", 4);
  ASSERT_TRUE(harness.refused());
  EXPECT_EQ(harness.actions().rejection->reason, RejectReason::kQueueFull);
  EXPECT_GE(harness.actions().rejection->pushback, Millis(20));
  EXPECT_EQ(harness.core().waiting(), 3u);
  harness.Renew("a", 1);  // even one that could join another: the bound is on memory
  EXPECT_TRUE(harness.refused());
}

TEST(GroupCommitterCoreBounds, FloodLeavesRoomForOtherNamespacesAndKinds) {
  CoreHarness harness({.max_queue = 800});
  harness.Renew("a", 0);
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    harness.Claim("hot", i);
    if (!harness.refused()) ++accepted;
  }
  EXPECT_EQ(accepted, 700u);
  for (uint32_t id = 1; id <= 20; ++id) {
    harness.Claim("quiet", id);
    EXPECT_FALSE(harness.refused());
    harness.Renew("hot", id);
    EXPECT_FALSE(harness.refused());
  }
}

TEST(GroupCommitterCoreBounds, NewCallsAreRefusedWhileOldOnesWaitTooLong) {
  CoreHarness harness({.max_queue_age = Millis(1000)});
  harness.Renew("a", 0);
  harness.Renew("a", 1);
  harness.Advance(Millis(1000));
  harness.Renew("a", 2);
  EXPECT_FALSE(harness.refused());
  harness.Advance(Millis(1));
  harness.Renew("a", 3);
  ASSERT_TRUE(harness.refused());
  EXPECT_EQ(harness.actions().rejection->reason, RejectReason::kQueueOld);
  harness.Renew("b", 1);  // the worker hangs: its turn would not come either
  EXPECT_TRUE(harness.refused());
  harness.Renew("a", 1);  // joins one that waits, and costs nothing
  EXPECT_FALSE(harness.refused());
  harness.Done();
  harness.Renew("a", 4);
  EXPECT_FALSE(harness.refused());
}

TEST(GroupCommitterCoreBounds, LongQueueOfOneNamespaceIsNoReasonToRefuseAnother) {
  CoreHarness harness({.max_batch = 10, .max_queue_age = Millis(1000)});
  harness.Claim("hot", 0);
  for (uint64_t i = 1; i <= 1000; ++i) harness.Claim("hot", i);
  for (int i = 0; i < 20; ++i) {
    harness.Advance(Millis(100));
    harness.Done();
  }
  harness.Claim("hot", 5000);
  ASSERT_TRUE(harness.refused());
  EXPECT_EQ(harness.actions().rejection->reason, RejectReason::kQueueOld);
  harness.Claim("quiet", 1);
  EXPECT_FALSE(harness.refused());
  harness.Renew("hot", 1);
  EXPECT_FALSE(harness.refused());
}

TEST(GroupCommitterCoreBounds, CallThatCannotBeAnsweredBeforeItsDeadlineIsRefusedAtOnce) {
  CoreHarness harness({.max_batch = 10});
  for (int i = 0; i < 30; ++i) {
    harness.Renew("a", 0);
    harness.Advance(Millis(100));
    harness.Done();  // a batch takes 100 ms
  }
  harness.Renew("a", 0);
  for (uint32_t id = 1; id <= 30; ++id) harness.Renew("a", id);
  harness.SetPatience(Millis(490));  // the one under way, three full ones, its own
  harness.Renew("a", 31);
  ASSERT_TRUE(harness.refused());
  EXPECT_EQ(harness.actions().rejection->reason, RejectReason::kDeadlineTooNear);
  harness.SetPatience(Millis(500));
  harness.Renew("a", 32);
  EXPECT_FALSE(harness.refused());
}

TEST(GroupCommitterCoreBounds, QueueThatWillTakeTooLongIsClosedBeforeItsCallsAreOld) {
  CoreHarness harness({.max_batch = 10, .max_queue_age = Millis(300)});
  for (int i = 0; i < 30; ++i) {
    harness.Renew("a", 0);
    harness.Advance(Millis(100));
    harness.Done();  // a batch takes 100 ms
  }
  harness.Renew("a", 0);
  uint32_t accepted = 0;
  for (uint32_t id = 1; id <= 100; ++id) {
    harness.Renew("a", id);
    if (!harness.refused()) ++accepted;
  }
  EXPECT_EQ(accepted, 30u);  // begins after the one under way and two full ones: 300 ms
  EXPECT_EQ(harness.actions().rejection->reason, RejectReason::kQueueOld);
}

// ---- pushback ----

std::vector<Millis> PushbacksOf(uint64_t seed, Millis batch_takes, int refusals) {
  CoreHarness harness({.max_batch = 10, .max_queue = 10, .seed = seed});
  harness.Renew("a", 0);
  harness.Advance(batch_takes);
  harness.Done();
  harness.Renew("a", 0);
  for (uint32_t id = 1; id <= 10; ++id) harness.Renew("a", id);
  std::vector<Millis> pushbacks;
  for (int i = 0; i < refusals; ++i) {
    harness.Renew("a", 100 + static_cast<uint32_t>(i));
    EXPECT_TRUE(harness.refused());
    pushbacks.push_back(harness.actions().rejection->pushback);
  }
  return pushbacks;
}

double MeanOf(const std::vector<Millis>& pushbacks, size_t from, size_t count) {
  double sum = 0;
  for (size_t i = from; i < from + count; ++i) sum += static_cast<double>(pushbacks[i].count());
  return sum / static_cast<double>(count);
}

TEST(GroupCommitterCoreBounds, PushbackGrowsWithTheOverloadWithinItsBounds) {
  const std::vector<Millis> pushbacks = PushbacksOf(1, Millis(20), 1000);
  const double early = MeanOf(pushbacks, 0, 20);
  const double later = MeanOf(pushbacks, 100, 20);
  const double last = MeanOf(pushbacks, 900, 100);
  EXPECT_GT(later, 2 * early);
  EXPECT_GT(last, 2 * later);
  EXPECT_GT(last, 700);  // the bound, less half the jitter
  for (const Millis pushback : pushbacks) {
    EXPECT_GE(pushback, Millis(20));
    EXPECT_LE(pushback, Millis(1000));
  }
  EXPECT_GT(MeanOf(PushbacksOf(1, Millis(200), 20), 0, 20), 2 * early);
}

TEST(GroupCommitterCoreBounds, PushbackIsSpreadEvenAtItsBound) {
  const std::vector<Millis> pushbacks = PushbacksOf(1, Millis(500), 1000);
  const std::set<Millis> last(pushbacks.begin() + 900, pushbacks.end());
  EXPECT_GT(last.size(), 50u);
}

TEST(GroupCommitterCoreBounds, PushbackDependsOnTheSeedAlone) {
  EXPECT_EQ(PushbacksOf(5, Millis(20), 50), PushbacksOf(5, Millis(20), 50));
  EXPECT_NE(PushbacksOf(5, Millis(20), 50), PushbacksOf(6, Millis(20), 50));
}

TEST(GroupCommitterCoreBounds, PushbackIsSmallAgainAfterTheQueueWasEmpty) {
  CoreHarness harness({.max_batch = 10, .max_queue = 10});
  const auto last_pushback = [&](int refusals) {
    harness.Renew("a", 0);
    harness.Advance(Millis(20));
    harness.Done();  // a batch takes 20 ms
    harness.Renew("a", 0);
    for (uint32_t id = 1; id <= 10; ++id) harness.Renew("a", id);
    for (int i = 0; i < refusals; ++i) harness.Renew("a", 50);
    const Millis pushback = harness.actions().rejection->pushback;
    while (harness.Done().batch) harness.Advance(Millis(20));
    return pushback;
  };
  EXPECT_GT(last_pushback(1000), Millis(600));
  EXPECT_LT(last_pushback(1), Millis(60));
}

}  // namespace
}  // namespace snowlease::service
