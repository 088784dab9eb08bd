#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/batching/committer_test_support.h"
#include "service/batching/group_committer.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_injecting_lease_store.h"
#include "tests/testing/matchers.h"

// The group committer over a store that keeps the real rules.

namespace snowlease::service {
namespace {

using snowlease::testing::FakeClock;
using snowlease::testing::FaultInjectingLeaseStore;
using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using snowlease::testing::StoreOperation;
using storage::Reason;
using testing::ClaimOf;
using testing::LeaseAnswer;
using testing::StatusAnswer;

storage::ClaimSpec RealClaim(const FakeClock& clock) {
  storage::ClaimSpec spec = ClaimOf(1, "i");
  spec.client_time = {clock.Now().ms};
  return spec;
}

class GroupCommitterOnRulesTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  FaultInjectingLeaseStore store_{
      std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock_)};
  GroupCommitter committer_{&store_, &clock_, {}, nullptr};

  static constexpr storage::SteadyTime kNever = storage::SteadyTime::max();
};

TEST_F(GroupCommitterOnRulesTest, ClaimRepeatedInTheQueueIsOneGrant) {
  store_.Block(StoreOperation::kClaim);
  LeaseAnswer first;
  std::vector<LeaseAnswer> repeats(3);
  committer_.Claim(RealClaim(clock_), kNever, first.Done());
  ASSERT_TRUE(store_.AwaitBlocked(StoreOperation::kClaim, 1));
  for (LeaseAnswer& repeat : repeats) committer_.Claim(RealClaim(clock_), kNever, repeat.Done());
  store_.Unblock(StoreOperation::kClaim);
  const auto lease = first.Get();
  ASSERT_THAT(lease, IsOk());
  for (LeaseAnswer& repeat : repeats) {
    const auto again = repeat.Get();
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->row.machine_id, lease->row.machine_id);
    EXPECT_EQ(again->row.token, lease->row.token);
  }
  EXPECT_EQ(store_.Elements(StoreOperation::kClaim), 2u);
}

// Like M13: a repeat after a lost answer changes nothing more.
TEST_F(GroupCommitterOnRulesTest, RenewAndReleaseRepeatedAfterLostAnswersSucceed) {
  LeaseAnswer claim;
  committer_.Claim(RealClaim(clock_), kNever, claim.Done());
  const auto lease = claim.Get();
  ASSERT_THAT(lease, IsOk());
  storage::RenewSpec renew;
  renew.grant = {"a", lease->row.machine_id, "i", lease->row.token};
  renew.client_time = {clock_.Now().ms};
  store_.LoseAnswerOfNext(StoreOperation::kRenew, 1);
  LeaseAnswer lost;
  committer_.Renew(renew, kNever, lost.Done());
  EXPECT_THAT(lost.Get(), HasReason(Reason::kStoreUnavailable));
  LeaseAnswer repeated;
  committer_.Renew(renew, kNever, repeated.Done());
  EXPECT_THAT(repeated.Get(), IsOk());

  storage::ReleaseSpec release;
  release.grant = renew.grant;
  release.last_timestamp = storage::ClientTime{0};
  store_.LoseAnswerOfNext(StoreOperation::kRelease, 1);
  StatusAnswer lost_release;
  committer_.Release(release, kNever, lost_release.Done());
  EXPECT_THAT(lost_release.Get(), HasReason(Reason::kStoreUnavailable));
  StatusAnswer repeated_release;
  committer_.Release(release, kNever, repeated_release.Done());
  EXPECT_THAT(repeated_release.Get(), IsOk());
}

TEST_F(GroupCommitterOnRulesTest, RenewThatWaitsBehindAReleaseDoesNotReviveTheLease) {
  LeaseAnswer claim;
  committer_.Claim(RealClaim(clock_), kNever, claim.Done());
  const auto lease = claim.Get();
  ASSERT_THAT(lease, IsOk());
  storage::RenewSpec renew;
  renew.grant = {"a", lease->row.machine_id, "i", lease->row.token};
  renew.client_time = {clock_.Now().ms};
  storage::ReleaseSpec release;
  release.grant = renew.grant;
  store_.Block(StoreOperation::kRenew);
  LeaseAnswer before;
  LeaseAnswer earlier;
  LeaseAnswer later;
  StatusAnswer released;
  committer_.Renew(renew, kNever, before.Done());
  ASSERT_TRUE(store_.AwaitBlocked(StoreOperation::kRenew, 1));
  committer_.Renew(renew, kNever, earlier.Done());
  committer_.Release(release, kNever, released.Done());
  committer_.Renew(renew, kNever, later.Done());
  store_.Unblock(StoreOperation::kRenew);
  EXPECT_THAT(before.Get(), IsOk());
  EXPECT_THAT(earlier.Get(), IsOk());
  EXPECT_THAT(released.Get(), IsOk());
  EXPECT_THAT(later.Get(), HasReason(Reason::kMachineIdLost));
}

}  // namespace
}  // namespace snowlease::service
