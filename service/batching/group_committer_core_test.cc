#include "service/batching/group_committer_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "service/batching/core_harness.h"

namespace snowlease::service {
namespace {

using storage::Millis;
using testing::CoreHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GroupCommitterCore, LoneCallOnIdleWorkerGoesAtOnce) {
  CoreHarness harness({});
  const CallId call = harness.Renew("a", 1);
  ASSERT_TRUE(harness.actions().batch);
  EXPECT_THAT(harness.batch(), ElementsAre(call));
  EXPECT_EQ(harness.core().waiting(), 0u);
  harness.Done();
  EXPECT_FALSE(harness.actions().batch);
  harness.Claim("a", 1);
  EXPECT_TRUE(harness.actions().batch);
}

TEST(GroupCommitterCore, CallsThatComeWhileTheWorkerWorksGoAsOneBatch) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  std::vector<CallId> calls;
  for (uint32_t id = 1; id <= 5; ++id) {
    calls.push_back(harness.Renew("a", id));
    EXPECT_FALSE(harness.actions().batch);
  }
  harness.Done();
  EXPECT_EQ(harness.batch(), calls);
  EXPECT_THAT(harness.actions().batch->group_ends, ElementsAre(1, 2, 3, 4, 5));
}

TEST(GroupCommitterCore, BatchHoldsAtMostMaxBatchElements) {
  CoreHarness harness({.max_batch = 4});
  harness.Renew("a", 0);
  for (uint32_t id = 1; id <= 10; ++id) harness.Renew("a", id);
  EXPECT_EQ(harness.Done().batch->group_ends.size(), 4u);
  EXPECT_EQ(harness.Done().batch->group_ends.size(), 4u);
  EXPECT_EQ(harness.Done().batch->group_ends.size(), 2u);
  EXPECT_FALSE(harness.Done().batch);
}

TEST(GroupCommitterCore, BatchDeadlineIsTheLatestOfItsCalls) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  harness.SetPatience(Millis(700));
  harness.Renew("a", 1);
  harness.SetPatience(Millis(900));
  harness.Renew("a", 2);
  harness.SetPatience(Millis(800));
  harness.Renew("a", 3);
  harness.Done();
  EXPECT_EQ(harness.actions().batch->deadline, harness.now() + Millis(900));
}

// ---- kinds ----

TEST(GroupCommitterCore, FloodOfClaimsLeavesRenewalsEverySecondBatch) {
  CoreHarness harness({.max_batch = 4});
  harness.Renew("a", 0);
  for (uint64_t i = 0; i < 100; ++i) harness.Claim("a", i);
  for (uint32_t id = 1; id <= 8; ++id) harness.Renew("a", id);
  std::vector<CallKind> kinds;
  for (int i = 0; i < 5; ++i) kinds.push_back(harness.Done().batch->kind);
  EXPECT_THAT(kinds, ElementsAre(CallKind::kClaim, CallKind::kRenew, CallKind::kClaim,
                                 CallKind::kRenew, CallKind::kClaim));
}

TEST(GroupCommitterCore, FloodOfRenewalsLeavesClaimsEverySecondBatch) {
  CoreHarness harness({.max_batch = 4});
  harness.Claim("a", 1000);
  for (uint32_t id = 0; id < 100; ++id) harness.Renew("a", id);
  for (uint64_t i = 0; i < 8; ++i) harness.Claim("a", i);
  std::vector<CallKind> kinds;
  for (int i = 0; i < 5; ++i) kinds.push_back(harness.Done().batch->kind);
  EXPECT_THAT(kinds, ElementsAre(CallKind::kRenew, CallKind::kClaim, CallKind::kRenew,
                                 CallKind::kClaim, CallKind::kRenew));
}

TEST(GroupCommitterCore, KindsBesideRenewalsShareTheOtherTurns) {
  CoreHarness harness({.max_batch = 1});
  harness.Renew("a", 0);
  for (uint32_t id = 10; id < 20; ++id) {
    harness.Renew("a", id);
    harness.Claim("a", id);
    harness.Release("a", 100 + id);
    harness.Raise("a", 200 + id);
  }
  std::vector<CallKind> others;
  for (int i = 0; i < 12; ++i) {
    const CallKind kind = harness.Done().batch->kind;
    if (i % 2 == 1) {
      EXPECT_EQ(kind, CallKind::kRenew) << i;
    } else {
      others.push_back(kind);
    }
  }
  EXPECT_THAT(others, ElementsAre(CallKind::kClaim, CallKind::kRelease, CallKind::kRaise,
                                  CallKind::kClaim, CallKind::kRelease, CallKind::kRaise));
}

// ---- namespaces ----

TEST(GroupCommitterCore, HotNamespaceLeavesOthersTheirPartOfEveryClaimBatch) {
  CoreHarness harness({.max_batch = 64});
  harness.Renew("a", 0);
  for (uint64_t i = 0; i < 1000; ++i) harness.Claim("hot", i);
  std::vector<CallId> quiet;
  for (uint64_t i = 0; i < 12; ++i) quiet.push_back(harness.Claim("quiet-a", i));
  for (uint64_t i = 0; i < 12; ++i) quiet.push_back(harness.Claim("quiet-b", i));
  harness.Done();
  const std::vector<CallId> batch = harness.batch();
  EXPECT_EQ(batch.size(), 64u);
  for (const CallId call : quiet) EXPECT_THAT(batch, ::testing::Contains(call));
}

TEST(GroupCommitterCore, NamespacesShareABatchEvenly) {
  CoreHarness harness({.max_batch = 60});
  harness.Renew("a", 0);
  std::map<CallId, char> name_space_of;
  for (const char name : {'x', 'y', 'z'}) {
    for (uint64_t i = 0; i < 300; ++i) {
      name_space_of[harness.Claim(std::string(1, name), i)] = name;
    }
  }
  for (int round = 0; round < 5; ++round) {
    std::map<char, int> count;
    harness.Done();
    for (const CallId call : harness.batch()) ++count[name_space_of[call]];
    EXPECT_EQ(count['x'], 20);
    EXPECT_EQ(count['y'], 20);
    EXPECT_EQ(count['z'], 20);
  }
}

TEST(GroupCommitterCore, MoreNamespacesThanABatchHoldsTakeTurns) {
  CoreHarness harness({.max_batch = 16});
  harness.Renew("a", 0);
  std::map<CallId, uint64_t> name_space_of;
  for (uint64_t round = 0; round < 2; ++round) {
    for (uint64_t n = 0; n < 100; ++n) {
      name_space_of[harness.Claim("n" + std::to_string(n), round)] = n;
    }
  }
  std::vector<uint64_t> order;
  for (int i = 0; i < 13; ++i) {
    harness.Done();
    for (const CallId call : harness.batch()) order.push_back(name_space_of[call]);
  }
  ASSERT_EQ(order.size(), 200u);
  EXPECT_EQ(std::set<uint64_t>(order.begin(), order.begin() + 100).size(), 100u);
}

TEST(GroupCommitterCore, FloodOfRenewalsInOneNamespaceDoesNotDelayAnother) {
  CoreHarness harness({.max_batch = 32});
  harness.Claim("a", 1);
  for (uint32_t id = 0; id < 1000; ++id) harness.Renew("flood", id);
  const CallId other = harness.Renew("other", 1);
  harness.Done();
  EXPECT_THAT(harness.batch(), ::testing::Contains(other));
}

// ---- workers ----

TEST(GroupCommitterCore, ClaimsOfANamespaceAreNeverUnderWayTwice) {
  CoreHarness harness({.max_batch = 2, .workers = 4});
  harness.Claim("a", 0);
  ASSERT_TRUE(harness.actions().batch);
  const int worker = harness.actions().batch->worker;
  for (uint64_t i = 1; i <= 6; ++i) {
    harness.Claim("a", i);
    EXPECT_FALSE(harness.actions().batch);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(harness.Done(worker).batch->worker, worker);
}

TEST(GroupCommitterCore, CallsOfALeaseAreNeverUnderWayTwice) {
  for (uint32_t id = 0; id < 50; ++id) {
    CoreHarness fresh({.workers = 4, .seed = id});
    fresh.Renew("a", id);
    fresh.Renew("a", id);
    EXPECT_FALSE(fresh.actions().batch);
    fresh.Release("a", id);
    EXPECT_FALSE(fresh.actions().batch);
    fresh.Raise("a", id);
    EXPECT_FALSE(fresh.actions().batch);
  }
}

TEST(GroupCommitterCore, LeasesOfOneNamespaceUseAllWorkers) {
  CoreHarness harness({.workers = 4});
  std::set<int> workers;
  for (uint32_t id = 0; id < 64; ++id) {
    harness.Renew("a", id);
    if (harness.actions().batch) workers.insert(harness.actions().batch->worker);
  }
  EXPECT_EQ(workers.size(), 4u);
}

TEST(GroupCommitterCore, ClaimsOfManyNamespacesUseAllWorkers) {
  CoreHarness harness({.workers = 4});
  std::set<int> workers;
  for (uint64_t n = 0; n < 64; ++n) {
    harness.Claim("n" + std::to_string(n), n);
    if (harness.actions().batch) workers.insert(harness.actions().batch->worker);
  }
  EXPECT_EQ(workers.size(), 4u);
}

// ---- merging ----

// M12: both callers get the one answer, which is what was stored.
TEST(GroupCommitterCore, RenewalsOfOneGrantShareAnElement) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  const CallId first = harness.Renew("a", 1);
  const CallId other = harness.Renew("a", 2);
  const CallId second = harness.Renew("a", 1);
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(first, second, other));
  EXPECT_THAT(harness.actions().batch->group_ends, ElementsAre(2, 3));
}

TEST(GroupCommitterCore, BatchNeverHoldsALeaseTwice) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  const CallId old_grant = harness.Renew("a", 1, 7);
  const CallId new_grant = harness.Renew("a", 1, 8);
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(old_grant));
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(new_grant));
}

TEST(GroupCommitterCore, CallsOfALeaseKeepTheirOrderOverKinds) {
  CoreHarness harness({});
  harness.Claim("a", 0);
  const CallId renew = harness.Renew("a", 1);
  const CallId raise = harness.Raise("a", 1);
  const CallId release = harness.Release("a", 1);
  const CallId late_renew = harness.Renew("a", 1);  // not merged past the release
  std::vector<std::vector<CallId>> batches;
  while (harness.Done().batch) batches.push_back(harness.batch());
  EXPECT_THAT(batches, ElementsAre(ElementsAre(renew), ElementsAre(raise), ElementsAre(release),
                                   ElementsAre(late_renew)));
}

TEST(GroupCommitterCore, OnlyEqualReleasesShareAnElement) {
  CoreHarness harness({});
  harness.Claim("a", 0);
  const CallId first = harness.Release("a", 1, 1, 500);
  const CallId same = harness.Release("a", 1, 1, 500);
  const CallId unknown = harness.Release("a", 1, 1, std::nullopt);
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(first, same));
  EXPECT_EQ(harness.actions().batch->group_ends.size(), 1u);
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(unknown));
}

TEST(GroupCommitterCore, ClaimsOfOneIncarnationShareAnElement) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  const CallId first = harness.Claim("a", 1, "i");
  const CallId other_incarnation = harness.Claim("a", 2, "i");
  const CallId other_instance = harness.Claim("a", 1, "j");
  const CallId other_namespace = harness.Claim("b", 1, "i");
  const CallId retry = harness.Claim("a", 1, "i");
  harness.Done();
  EXPECT_THAT(harness.batch(),
              ElementsAre(first, retry, other_incarnation, other_instance, other_namespace));
  EXPECT_EQ(harness.actions().batch->group_ends.size(), 4u);
}

TEST(GroupCommitterCore, CallUnderWayIsNotJoined) {
  CoreHarness harness({});
  harness.Renew("a", 1);
  const CallId repeat = harness.Renew("a", 1);
  EXPECT_EQ(harness.core().waiting(), 1u);
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(repeat));
}

// ---- deadlines ----

TEST(GroupCommitterCore, CallWhoseDeadlineIsOverOnArrivalNeverReachesTheStore) {
  CoreHarness harness({});
  harness.Step(CallArrived{9, CallKind::kRenew, {.name_space = "a"}, harness.now()});
  EXPECT_THAT(harness.actions().expired, ElementsAre(9));
  EXPECT_FALSE(harness.actions().batch);
}

TEST(GroupCommitterCore, CallWhoseDeadlinePassesInTheQueueNeverReachesTheStore) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  harness.SetPatience(Millis(50));
  const CallId hasty = harness.Renew("a", 1);
  const CallId hasty_too = harness.Renew("a", 2);
  harness.SetPatience(Millis(500));
  const CallId patient = harness.Renew("a", 2);  // shares the element of a hasty one
  harness.Advance(Millis(50));
  harness.Done();
  EXPECT_THAT(harness.actions().expired, ElementsAre(hasty, hasty_too));
  EXPECT_THAT(harness.batch(), ElementsAre(patient));
  EXPECT_THAT(harness.actions().batch->group_ends, ElementsAre(1));
}

TEST(GroupCommitterCore, WorkerIsIdleAfterEverythingThatWaitedExpired) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  harness.SetPatience(Millis(10));
  harness.Renew("a", 1);
  harness.Release("a", 1);
  harness.Claim("a", 1);
  harness.Advance(Millis(20));
  EXPECT_EQ(harness.Done().expired.size(), 3u);
  EXPECT_FALSE(harness.actions().batch);
  harness.Renew("a", 1);
  EXPECT_TRUE(harness.actions().batch);
}

TEST(GroupCommitterCore, TickDropsExpiredCallsOfALeaseAndKeepsTheRestInOrder) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  harness.SetPatience(Millis(10));
  const CallId renew = harness.Renew("a", 1);
  const CallId raise = harness.Raise("a", 1);
  const CallId lone = harness.Renew("b", 1);
  harness.SetPatience(Millis(0));
  const CallId release = harness.Release("a", 1);
  const CallId late = harness.Renew("a", 1);
  harness.Advance(Millis(20));
  harness.Step(Tick{});
  EXPECT_THAT(harness.actions().expired, ::testing::UnorderedElementsAre(renew, raise, lone));
  EXPECT_EQ(harness.core().waiting(), 2u);
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(release));
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(late));
  EXPECT_FALSE(harness.Done().batch);
}

// ---- drain ----

TEST(GroupCommitterCore, DrainRefusesNewCallsAndServesThoseThatWait) {
  CoreHarness harness({});
  harness.Renew("a", 0);
  const CallId waiting = harness.Renew("a", 1);
  harness.Step(DrainStarted{});
  harness.Renew("a", 2);
  ASSERT_TRUE(harness.refused());
  EXPECT_EQ(harness.actions().rejection->reason, RejectReason::kDraining);
  EXPECT_EQ(harness.actions().rejection->pushback, Millis(0));
  harness.Done();
  EXPECT_THAT(harness.batch(), ElementsAre(waiting));
  EXPECT_FALSE(harness.Done().batch);
  EXPECT_THAT(harness.actions().expired, IsEmpty());
}

}  // namespace
}  // namespace snowlease::service
