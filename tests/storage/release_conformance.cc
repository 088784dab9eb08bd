#include "tests/storage/lease_store_conformance.h"

// Releases: where the next holder starts, and what a late or repeated one does.

namespace snowlease::testing {
namespace {

// L1: grantable at once, above the last timestamp.
TEST_P(LeaseStoreConformance, CleanReleaseLetsTheNextStartAtTheLastTimestamp) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime last = Now();
  Released(KeyOf(lease), last);
  const LeaseRow freed = Row(0);
  EXPECT_EQ(freed.state, LeaseState::kFree);
  EXPECT_FALSE(freed.instance_id.has_value());
  EXPECT_EQ(freed.free_floor, last);
  EXPECT_EQ(freed.fence, lease.row.fence);
  const Lease next = Claimed(Spec("b"));
  EXPECT_EQ(next.row.machine_id, lease.row.machine_id);
  EXPECT_EQ(next.row.floor, last);
  EXPECT_EQ(next.row.token, lease.row.token + 1);
  EXPECT_GE(next.row.watermark, last);
}

TEST_P(LeaseStoreConformance, ReleaseWithNothingIssuedTrimsToTheFloor) {
  const ClientTime floor = Now();
  const Lease first = Claimed(Spec("a"));
  Released(KeyOf(first), floor);
  const Lease second = Claimed(Spec("b"));
  Released(KeyOf(second), ClientTime{0});
  EXPECT_EQ(Row(0).free_floor, floor);
}

TEST_P(LeaseStoreConformance, ReleaseWithoutLastTimestampFencesTheWholeWindow) {
  const Lease lease = Claimed(Spec("a"));
  Released(KeyOf(lease), std::nullopt);
  EXPECT_EQ(Row(0).fence, *lease.row.window_end);
  EXPECT_EQ(Row(0).free_floor, lease.row.window_end);
  EXPECT_EQ(Claimed(Spec("b")).row.machine_id, 1u) << "not grantable yet";
  Advance(kWindow);
  const Lease next = Claimed(Spec("c"));
  EXPECT_EQ(next.row.machine_id, 0u);
  EXPECT_EQ(next.row.floor, *lease.row.window_end);
}

// M02: what was issued is never cut off below the recorded window.
TEST_P(LeaseStoreConformance, LastTimestampAtTheEndOfAClampedWindowIsBelieved) {
  const Lease lease = Claimed(Spec("a"));
  const absl::StatusOr<Lease> renewed = RenewAt(KeyOf(lease), Now() + Millis(350'000));
  ASSERT_THAT(renewed, IsOk());
  const ClientTime last = *renewed->row.window_end;
  Released(KeyOf(lease), last);
  EXPECT_EQ(Row(0).free_floor, last);
  EXPECT_EQ(Row(0).watermark, last);
}

TEST_P(LeaseStoreConformance, LastTimestampBeyondTheWindowReleasesAtTheWindowEnd) {
  const Lease lease = Claimed(Spec("a"));
  Released(KeyOf(lease), *lease.row.window_end + Millis(1'000'000));
  EXPECT_EQ(Row(0).free_floor, lease.row.window_end);
}

// W2
TEST_P(LeaseStoreConformance, ReleaseNeverLowersTheWatermark) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime high = Now() + Millis(3000);
  Renewed(KeyOf(lease), high);
  Released(KeyOf(lease), high - Millis(2000));
  EXPECT_EQ(Row(0).free_floor, high);
}

TEST_P(LeaseStoreConformance, RepeatedReleaseSucceedsAndChangesNothing) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime last = Now();
  Released(KeyOf(lease), last);
  const LeaseRow before = Row(0);
  EXPECT_THAT(Release(KeyOf(lease), last), IsOk());
  EXPECT_THAT(Release(KeyOf(lease), last + Millis(7000)), IsOk());
  EXPECT_THAT(Release(KeyOf(lease), std::nullopt), IsOk());
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, RepeatedReleaseCannotMakeAnUncleanEndClean) {
  const Lease lease = Claimed(Spec("a"));
  Released(KeyOf(lease), std::nullopt);
  EXPECT_THAT(Release(KeyOf(lease), Now()), IsOk());
  EXPECT_EQ(Row(0).free_floor, lease.row.window_end);
}

TEST_P(LeaseStoreConformance, RepeatedReleaseOnceTheIdIsGrantedAnewIsLost) {
  const Lease lease = Claimed(Spec("a"));
  Released(KeyOf(lease), Now());
  const Lease next = Claimed(Spec("b"));
  EXPECT_THAT(Release(KeyOf(lease), Now()), HasLossCause(EndCause::kReleased));
  EXPECT_THAT(Renew(KeyOf(next)), IsOk());
}

TEST_P(LeaseStoreConformance, ReleaseOfAnOlderGrantIsLostAlsoWhenTheIdIsFreeAgain) {
  const Lease first = Claimed(Spec("a"));
  Released(KeyOf(first), Now());
  Released(KeyOf(Claimed(Spec("b"))), Now());
  const LeaseRow before = Row(0);
  EXPECT_THAT(Release(KeyOf(first), Now()), HasLossCause(EndCause::kReleased));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

// M04: a late Release or its retry touches nothing of the new grant.
TEST_P(LeaseStoreConformance, LateReleaseAfterTheInstanceClaimedAnewIsSuperseded) {
  const Lease first = Claimed(Spec("a"));
  ClaimSpec again = Spec("a");
  again.proof = ProofOf(first, Now());
  const Lease second = Claimed(again);
  ASSERT_EQ(second.row.machine_id, first.row.machine_id);
  const LeaseRow before = Row(0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Release(KeyOf(first), Now()), HasLossCause(EndCause::kSuperseded));
  }
  EXPECT_THAT(Abandon(KeyOf(first)), HasLossCause(EndCause::kSuperseded));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, ReleaseAnsweredBeforeTheInstanceClaimedAnewIsSupersededWhenRepeated) {
  const Lease first = Claimed(Spec("a"));
  Released(KeyOf(first), Now());
  const Lease second = Claimed(Spec("a"));
  ASSERT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_THAT(Release(KeyOf(first), Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Renew(KeyOf(second)), IsOk());
}

TEST_P(LeaseStoreConformance, ReleaseThatNamesAnotherGrantChangesNothing) {
  const Lease a = Claimed(Spec("a"));
  Claimed(Spec("b"));
  const std::string before = Describe(Rows());
  GrantKey wrong = KeyOf(a);
  wrong.token += 1;
  EXPECT_THAT(Release(wrong, Now()), HasLossCause(EndCause::kSuperseded));
  wrong = KeyOf(a);
  wrong.machine_id = 1;
  EXPECT_THAT(Release(wrong, Now()), HasLossCause(EndCause::kSuperseded));
  wrong = KeyOf(a);
  wrong.instance_id = "nobody";
  EXPECT_THAT(Release(wrong, Now()), HasReason(Reason::kMachineIdLost));
  wrong.machine_id = 9;
  EXPECT_THAT(Release(wrong, Now()), HasLossCause(EndCause::kUnknown));
  EXPECT_EQ(Describe(Rows()), before);
}

TEST_P(LeaseStoreConformance, WrongInstanceCannotRepeatAnothersRelease) {
  const Lease a = Claimed(Spec("a"));
  const Lease b = Claimed(Spec("b"));
  Released(KeyOf(a), Now());
  GrantKey wrong = KeyOf(a);
  wrong.instance_id = "nobody";
  EXPECT_THAT(Release(wrong, Now()), HasLossCause(EndCause::kUnknown));
  wrong.instance_id = "b";
  EXPECT_THAT(Release(wrong, Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Renew(KeyOf(b)), IsOk());
}

TEST_P(LeaseStoreConformance, ReleaseAfterATakeoverIsLost) {
  const Lease dead = Claimed(Spec("dead", 1));
  Claimed(StableSpec("other", 1));
  Advance(kSafeGuard);
  const Lease taker = Claimed(Spec("taker", 1));
  EXPECT_THAT(Release(KeyOf(dead), Now()), HasLossCause(EndCause::kTakenOver));
  EXPECT_THAT(Renew(KeyOf(taker)), IsOk());
}

// M05
TEST_P(LeaseStoreConformance, TakeoverStartsAboveTheWindowItEnds) {
  ClaimSpec ahead = Spec("dead", 1);
  ahead.client_time = Now() + Millis(10'300);
  const Lease dead = Claimed(ahead);
  Claimed(StableSpec("other", 1));
  Advance(kSafeGuard);
  const Lease taker = Claimed(Spec("taker", 1));
  EXPECT_EQ(taker.row.floor, *dead.row.window_end);
  EXPECT_EQ(taker.row.fence, *dead.row.window_end);
  EXPECT_GE(taker.row.watermark, taker.row.floor);
  EXPECT_EQ(taker.row.token, dead.row.token + 1);
}

TEST_P(LeaseStoreConformance, ExpiredLeaseIsReleasedByItsHolderAsLongAsNobodyTookIt) {
  const Lease lease = Claimed(Spec("a"));
  Advance(kSafeGuard * 2);
  Released(KeyOf(lease), *lease.row.window_end - Millis(1000));
  EXPECT_EQ(Row(0).free_floor, *lease.row.window_end - Millis(1000));
}

// S1
TEST_P(LeaseStoreConformance, StableReleaseKeepsTheRow) {
  const Lease lease = Claimed(StableSpec("s"));
  Released(KeyOf(lease), Now());
  const LeaseRow kept = Row(0);
  EXPECT_EQ(kept.state, LeaseState::kKept);
  EXPECT_EQ(kept.instance_id, "s");
  EXPECT_FALSE(kept.free_floor.has_value());
  EXPECT_EQ(Claimed(Spec("other")).row.machine_id, 1u);
  EXPECT_THAT(Release(KeyOf(lease), Now()), IsOk()) << "repeated";
  EXPECT_EQ(Describe(Row(0)), Describe(kept));
}

TEST_P(LeaseStoreConformance, StableReleaseWithoutLastTimestampKeepsTheRowFenced) {
  const Lease lease = Claimed(StableSpec("s"));
  Released(KeyOf(lease), std::nullopt);
  EXPECT_EQ(Row(0).state, LeaseState::kKept);
  EXPECT_THAT(Claim(StableSpec("s")), HasReason(Reason::kWindowOpen));
  Advance(kWindow);
  EXPECT_EQ(Claimed(StableSpec("s")).row.floor, *lease.row.window_end);
}

// M10
TEST_P(LeaseStoreConformance, AbandonGivesANeverUsedIdBackAlsoOfAStableInstance) {
  const Lease lease = Claimed(StableSpec("s"));
  ASSERT_THAT(Abandon(KeyOf(lease)), IsOk());
  EXPECT_EQ(Row(0).state, LeaseState::kFree);
  EXPECT_THAT(Abandon(KeyOf(lease)), IsOk()) << "repeated";
  const Lease next = Claimed(Spec("b"));
  EXPECT_EQ(next.row.machine_id, 0u);
  EXPECT_EQ(next.row.floor, lease.row.floor);
}

TEST_P(LeaseStoreConformance, AbandonCountsAsNothingIssuedWhateverElseItSays) {
  const Lease lease = Claimed(Spec("a"));
  const ReleaseSpec spec{KeyOf(lease), Now(), true};
  ASSERT_THAT(store().Release({&spec, 1}, {}).front(), IsOk());
  EXPECT_EQ(Row(0).free_floor, lease.row.floor);
}

// M19
TEST_P(LeaseStoreConformance, AbandonLeavesAnOwnIdAsItWas) {
  const Lease first = Claimed(StableSpec("s"));
  const ClientTime last = Now();
  Released(KeyOf(first), last);
  const Lease second = Claimed(StableSpec("s"));
  ASSERT_EQ(second.row.source, LeaseSource::kOwn);
  ASSERT_THAT(Abandon(KeyOf(second)), IsOk());
  const LeaseRow row = Row(0);
  EXPECT_EQ(row.state, LeaseState::kKept);
  EXPECT_EQ(row.instance_id, "s");
  EXPECT_EQ(row.watermark, last);
  EXPECT_EQ(Claimed(StableSpec("s")).row.floor, last);
}

TEST_P(LeaseStoreConformance, AbandonedOwnIdOfANonStableInstanceIsFreed) {
  const Lease first = Claimed(Spec("a"));
  const ClientTime reserved = Now();
  ClaimSpec comeback = Spec("a");
  comeback.proof = ProofOf(first, reserved);
  const Lease second = Claimed(comeback);
  ASSERT_THAT(Abandon(KeyOf(second)), IsOk());
  EXPECT_EQ(Row(0).state, LeaseState::kFree);
  EXPECT_EQ(Row(0).free_floor, reserved);
}

}  // namespace
}  // namespace snowlease::testing
