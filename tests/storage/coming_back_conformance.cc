#include "tests/storage/lease_store_conformance.h"

// An instance that has a row and claims anew: with proof, without, kept.

namespace snowlease::testing {
namespace {

using storage::MetadataOf;
using storage::RetryAfterOf;

// L1
TEST_P(LeaseStoreConformance, ProofGivesTheSameIdAtOnceAboveWhatWasReserved) {
  const Lease first = Claimed(Spec("a"));
  const ClientTime reserved = Now() + Millis(200);
  ClaimSpec comeback = Spec("a");
  comeback.proof = ProofOf(first, reserved);
  const Lease second = Claimed(comeback);
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.token, first.row.token + 1);
  EXPECT_EQ(second.row.source, LeaseSource::kOwn);
  EXPECT_EQ(second.row.floor, reserved);
  EXPECT_GE(second.row.watermark, reserved);
  EXPECT_EQ(second.row.fence, first.row.fence) << "a clean end raises no fence";
  EXPECT_FALSE(second.superseded_live_lease);
  EXPECT_THAT(Renew(KeyOf(first)), HasLossCause(EndCause::kSuperseded));
}

TEST_P(LeaseStoreConformance, ProofBeyondTheWindowIsClampedToIt) {
  const Lease first = Claimed(Spec("a"));
  ClaimSpec comeback = Spec("a");
  comeback.proof = ProofOf(first, *first.row.window_end + Millis(100'000));
  comeback.client_time = *first.row.window_end - kMaxWait;
  Advance(kWindow);
  const Lease second = Claimed(comeback);
  EXPECT_EQ(second.row.floor, *first.row.window_end);
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
}

TEST_P(LeaseStoreConformance, ProofBelowTheWatermarkIsNone) {
  const Lease first = Claimed(Spec("a"));
  const ClientTime now = Now();
  Renewed(KeyOf(first), now);
  ClaimSpec comeback = Spec("a");
  comeback.comeback = ComebackMode::kKeep;
  comeback.proof = ProofOf(first, now - Millis(1));
  EXPECT_THAT(Claim(comeback), HasReason(Reason::kWindowOpen));
  comeback.proof = ProofOf(first, now);
  EXPECT_THAT(Claim(comeback), IsOk());
}

// M16: the number of a token proves nothing.
TEST_P(LeaseStoreConformance, ProofOfAnotherIncarnationIsNone) {
  const Lease own = Claimed(Spec("a"));
  const Lease other = Claimed(Spec("b"));
  ASSERT_EQ(own.row.token, other.row.token);
  ClaimSpec comeback = Spec("a");
  comeback.comeback = ComebackMode::kKeep;
  comeback.proof = ProofOf(other, Now());
  EXPECT_THAT(Claim(comeback), HasReason(Reason::kWindowOpen));
}

TEST_P(LeaseStoreConformance, ProofTooFarAheadLeavesTheRowUntouchedAndTheModeDecides) {
  const Lease first = Claimed(Spec("a"));
  const LeaseRow before = Row(0);
  ClaimSpec comeback = Spec("a");
  comeback.comeback = ComebackMode::kKeep;
  comeback.proof = ProofOf(first, Now() + kMinute);
  EXPECT_THAT(Claim(comeback), HasReason(Reason::kWindowOpen));
  EXPECT_EQ(Describe(Row(0)), Describe(before));

  comeback.comeback = ComebackMode::kMove;
  const Lease moved = Claimed(comeback);
  EXPECT_NE(moved.row.machine_id, first.row.machine_id);
  EXPECT_EQ(Row(0).state, LeaseState::kFree);
  EXPECT_GE(Row(0).fence, *first.row.window_end) << "a move fences, also with a proof";
}

// M09: a restart at once, with another id; the old window stays fenced.
TEST_P(LeaseStoreConformance, WithoutProofANonStableInstanceMovesAtOnce) {
  const Lease first = Claimed(Spec("a"));
  const Lease second = Claimed(Spec("a"));
  EXPECT_EQ(second.row.machine_id, 1u);
  EXPECT_EQ(second.row.source, LeaseSource::kNew);
  EXPECT_TRUE(second.superseded_live_lease);
  const LeaseRow old = Row(first.row.machine_id);
  EXPECT_EQ(old.state, LeaseState::kFree);
  EXPECT_FALSE(old.instance_id.has_value());
  EXPECT_EQ(old.fence, *first.row.window_end);
  EXPECT_EQ(old.free_floor, first.row.window_end);
  EXPECT_THAT(Renew(KeyOf(first)), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Renew(KeyOf(second)), IsOk());
}

TEST_P(LeaseStoreConformance, MoveWithNothingElseToGrantIsWindowOpenAndTouchesNothing) {
  const Lease own = Claimed(Spec("a", 1));
  const Lease other = Claimed(Spec("b", 1));
  const LeaseRow before = Row(own.row.machine_id);
  const ClaimSpec comeback = Spec("a", 1);
  const absl::StatusOr<Lease> refused = Claim(comeback);
  ASSERT_THAT(refused, HasReason(Reason::kWindowOpen));
  EXPECT_EQ(MetadataOf(refused.status())["until"], std::to_string(own.row.window_end->ms));
  ASSERT_TRUE(RetryAfterOf(refused.status()).has_value());
  EXPECT_LE(*RetryAfterOf(refused.status()), *own.row.window_end - comeback.client_time);
  EXPECT_GE(*RetryAfterOf(refused.status()),
            *own.row.window_end - comeback.client_time - comeback.max_wait);
  EXPECT_EQ(Describe(Row(own.row.machine_id)), Describe(before));
  EXPECT_THAT(Renew(KeyOf(own)), IsOk());

  // Only ids ahead of the clock beside the own row: still the own row's answer.
  Released(KeyOf(other), Now() + kMinute);
  EXPECT_THAT(Claim(Spec("a", 1)), HasReason(Reason::kWindowOpen));
}

TEST_P(LeaseStoreConformance, StableInstanceWithoutProofWaitsForItsOwnId) {
  const Lease first = Claimed(StableSpec("s"));
  const LeaseRow before = Row(0);
  EXPECT_THAT(Claim(StableSpec("s")), HasReason(Reason::kWindowOpen));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
  Advance(kWindow - kMaxWait);
  const Lease second = Claimed(StableSpec("s"));
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.token, 2u);
  EXPECT_EQ(second.row.source, LeaseSource::kOwn);
  EXPECT_EQ(second.row.floor, *first.row.window_end);
  EXPECT_EQ(second.row.fence, *first.row.window_end);
  EXPECT_TRUE(second.superseded_live_lease) << "renewed less than the safe guard ago";
}

TEST_P(LeaseStoreConformance, OwnExpiredLeaseComesBackAboveItsWindow) {
  const Lease first = Claimed(Spec("a"));
  Advance(kSafeGuard);  // to the very moment of expiry
  const Lease second = Claimed(Spec("a"));
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.source, LeaseSource::kOwn);
  EXPECT_EQ(second.row.floor, *first.row.window_end);
  EXPECT_EQ(second.row.fence, *first.row.window_end);
  EXPECT_FALSE(second.superseded_live_lease);
}

TEST_P(LeaseStoreConformance, TrustClockNeedsTheNamespacesLeave) {
  Claimed(Spec("a"));
  const LeaseRow before = Row(0);
  ClaimSpec comeback = Spec("a");
  comeback.comeback = ComebackMode::kTrustClock;
  EXPECT_THAT(Claim(comeback), HasReason(Reason::kNamespacePolicy));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, TrustClockStartsAboveTheWatermarkAndTheNextHolderAboveTheWindow) {
  const Lease first = Claimed(Spec("a"));
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.allow_trust_clock = true;
  Updated(update);
  const ClientTime last = Now();
  Renewed(KeyOf(first), last);
  const ClientTime first_end = *Row(0).window_end;
  ClaimSpec comeback = Spec("a");
  comeback.comeback = ComebackMode::kTrustClock;
  const Lease second = Claimed(comeback);
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.floor, last);
  EXPECT_TRUE(second.clock_trusted);
  EXPECT_TRUE(second.superseded_live_lease);
  Released(KeyOf(second), Now());
  EXPECT_GE(*Row(0).free_floor, first_end) << "the zombie may have issued up to there";
}

// Also from the kept row that the first trusting grant left under the zombie's fence.
TEST_P(LeaseStoreConformance, TrustClockComesBackAgainAfterACleanRelease) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 10;
  update.allow_trust_clock = true;
  update.allow_missing = true;
  Updated(update);
  Claimed(StableSpec("s"));
  ClaimSpec trusting = StableSpec("s");
  trusting.comeback = ComebackMode::kTrustClock;
  const Lease second = Claimed(trusting);
  const ClientTime last = Now();
  Released(KeyOf(second), last);
  trusting.incarnation_id = NewIncarnation();
  const Lease third = Claimed(trusting);
  EXPECT_EQ(third.row.machine_id, 0u);
  EXPECT_EQ(third.row.floor, last);
  EXPECT_TRUE(third.clock_trusted);
}

TEST_P(LeaseStoreConformance, TrustClockIsNotUsedWhereTheWindowIsOver) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.allow_trust_clock = true;
  update.machine_bits = 10;
  update.allow_missing = true;
  Updated(update);
  const Lease first = Claimed(Spec("a"));
  Advance(kSafeGuard);
  ClaimSpec comeback = Spec("a");
  comeback.comeback = ComebackMode::kTrustClock;
  const Lease second = Claimed(comeback);
  EXPECT_EQ(second.row.floor, *first.row.window_end);
  EXPECT_FALSE(second.clock_trusted);
}

TEST_P(LeaseStoreConformance, KeptIdIsGivenBackToItsInstanceAlone) {
  const Lease first = Claimed(StableSpec("s", 1));
  Claimed(Spec("other", 1));
  const ClientTime last = Now();
  Released(KeyOf(first), last);
  EXPECT_EQ(Row(0).state, LeaseState::kKept);
  Advance(kSafeGuard / 2);
  EXPECT_THAT(Claim(Spec("third", 1)), HasReason(Reason::kMachineIdOverflow));
  const Lease second = Claimed(StableSpec("s", 1));
  EXPECT_EQ(second.row.machine_id, 0u);
  EXPECT_EQ(second.row.token, 2u);
  EXPECT_EQ(second.row.source, LeaseSource::kOwn);
  EXPECT_EQ(second.row.floor, last);
  EXPECT_FALSE(second.superseded_live_lease);
}

// The fence of whoever was there before outlives a clean release.
TEST_P(LeaseStoreConformance, KeptRowKeepsTheFenceOfAnotherInstance) {
  ClaimSpec early = Spec("zombie");
  early.client_time = Now() + Millis(30'000);
  const Lease zombie = Claimed(early);
  ASSERT_THAT(Force(0, zombie.row.token), IsOk());
  Advance(kWindow + Millis(30'000) - kMaxWait);
  const Lease first = Claimed(StableSpec("s"));
  ASSERT_EQ(first.row.machine_id, 0u);
  ASSERT_EQ(first.row.floor, *zombie.row.window_end);
  Released(KeyOf(first), ClientTime{0});
  const Lease second = Claimed(StableSpec("s"));
  EXPECT_GE(second.row.floor, *zombie.row.window_end);
  EXPECT_EQ(second.row.fence, *zombie.row.window_end);
}

// M03
TEST_P(LeaseStoreConformance, ZombieOfAStableInstanceStaysFencedOverACleanRelease) {
  const Lease zombie = Claimed(StableSpec("s"));
  Advance(kWindow - kMaxWait);
  const Lease second = Claimed(StableSpec("s"));
  Released(KeyOf(second), ClientTime{0});
  const Lease third = Claimed(StableSpec("s"));
  EXPECT_GE(third.row.floor, *zombie.row.window_end);
}

// M19: a slow boot clock costs the instance nothing but time.
TEST_P(LeaseStoreConformance, KeptIdAheadOfASlowClockStaysAsItIs) {
  const Lease first = Claimed(StableSpec("s"));
  const ClientTime last = Now();
  Released(KeyOf(first), last);
  const LeaseRow before = Row(0);
  ClaimSpec slow = StableSpec("s");
  slow.client_time = last - kMinute;
  const absl::StatusOr<Lease> refused = Claim(slow);
  EXPECT_THAT(refused, HasReason(Reason::kWindowOpen));
  EXPECT_EQ(MetadataOf(refused.status())["until"], std::to_string(last.ms));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
  EXPECT_EQ(Claimed(StableSpec("s")).row.floor, last);
}

TEST_P(LeaseStoreConformance, MoveFreesAKeptIdCleanly) {
  const Lease first = Claimed(StableSpec("s"));
  const ClientTime last = Now() + Millis(20'000);
  Released(KeyOf(first), last);
  ClaimSpec moving = StableSpec("s");
  moving.comeback = ComebackMode::kMove;
  EXPECT_EQ(Claimed(moving).row.machine_id, 1u);
  EXPECT_EQ(Row(0).state, LeaseState::kFree);
  EXPECT_EQ(Row(0).free_floor, last);
  EXPECT_EQ(Namespace().counts.kept, 0u);
}

}  // namespace
}  // namespace snowlease::testing
