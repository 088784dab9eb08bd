#include "tests/storage/lease_store_conformance.h"

// Coming back: twins, zombies, ids that do not fit, leases without end.

namespace snowlease::testing {
namespace {

// M01: the second unclean end starts above the window that the first one fenced.
TEST_P(LeaseStoreConformance, TakerThatCrashesWhileWaitingStillStartsAboveTheFirstWindow) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 1;
  update.allow_trust_clock = true;
  update.allow_missing = true;
  Updated(update);
  ClaimSpec fast = Spec("x", 1);
  fast.client_time = Now() + Millis(10'400);
  const Lease partitioned = Claimed(fast);
  Claimed(StableSpec("other", 1));
  Advance(kSafeGuard);
  const Lease taker = Claimed(Spec("a", 1));
  ASSERT_EQ(taker.row.machine_id, partitioned.row.machine_id);
  ASSERT_GE(taker.row.floor, *partitioned.row.window_end);

  EXPECT_THAT(Claim(Spec("a", 1)), HasReason(Reason::kWindowOpen));
  ClaimSpec proven = Spec("a", 1);
  proven.proof = ProofOf(taker, taker.row.floor);
  const Lease back = Claimed(proven);
  EXPECT_EQ(back.row.machine_id, partitioned.row.machine_id);
  EXPECT_GE(back.row.floor, *partitioned.row.window_end);
  ClaimSpec trusting = Spec("a", 1);
  trusting.comeback = ComebackMode::kTrustClock;
  const Lease trusted = Claimed(trusting);
  EXPECT_TRUE(trusted.clock_trusted);
  EXPECT_GE(trusted.row.floor, *partitioned.row.window_end);
}

// M15: the older of two processes with one identity hears it once and does not win it back.
TEST_P(LeaseStoreConformance, TwinWithTheSameIdentitySupersedesTheOlderOne) {
  const Lease older = Claimed(Spec("twin"));
  const Lease newer = Claimed(Spec("twin"));
  EXPECT_TRUE(newer.superseded_live_lease);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Renew(KeyOf(older)), HasLossCause(EndCause::kSuperseded));
    EXPECT_THAT(Renew(KeyOf(newer)), IsOk());
  }
}

// M20: the id of the paused twin went to B; the cause is still the other twin.
TEST_P(LeaseStoreConformance, PausedTwinWhoseIdWasTakenHearsSupersededAndDisturbsNobody) {
  const Lease paused = Claimed(Spec("twin", 1));
  const Lease filler = Claimed(Spec("filler", 1));
  Advance(kSafeGuard);
  Renewed(KeyOf(filler));
  const Lease taker = Claimed(Spec("b", 1));
  ASSERT_EQ(taker.row.machine_id, paused.row.machine_id);
  EXPECT_THAT(Renew(KeyOf(paused)), HasLossCause(EndCause::kTakenOver));
  Released(KeyOf(filler), Now());
  const Lease twin = Claimed(Spec("twin", 1));
  EXPECT_THAT(Renew(KeyOf(paused)), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Release(KeyOf(paused), Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Renew(KeyOf(twin)), IsOk());
  EXPECT_THAT(Renew(KeyOf(taker)), IsOk());
}

// F04
TEST_P(LeaseStoreConformance, OwnIdThatDoesNotFitIsGivenUpByANonStableInstance) {
  ClaimedMany("filler", 2, 2);
  const Lease own = Claimed(Spec("a", 2));
  ASSERT_EQ(own.row.machine_id, 2u);
  Advance(kSafeGuard);
  const Lease next = Claimed(Spec("a", 1));
  EXPECT_LT(next.row.machine_id, 2u);
  EXPECT_EQ(Row(2).state, LeaseState::kFree);
  EXPECT_EQ(Row(2).free_floor, own.row.window_end);
  EXPECT_THAT(Renew(KeyOf(own)), HasLossCause(EndCause::kSuperseded));
}

// Waiting would not help: the own id never fits. It stays as it is for a claim with more bits.
TEST_P(LeaseStoreConformance, OwnIdThatDoesNotFitIsNoReasonToWait) {
  for (const char* stable : {"s", "t"}) Claimed(StableSpec(stable, 2));
  const Lease own = Claimed(Spec("a", 2));
  EXPECT_THAT(Claim(Spec("a", 1)), HasReason(Reason::kMachineIdOverflow));
  EXPECT_THAT(Renew(KeyOf(own)), IsOk());
}

TEST_P(LeaseStoreConformance, OwnIdThatDoesNotFitIsRefusedToAStableInstance) {
  ClaimedMany("filler", 2, 2);
  const Lease own = Claimed(StableSpec("s", 2));
  Released(KeyOf(own), Now());
  const LeaseRow before = Row(own.row.machine_id);
  EXPECT_THAT(Claim(StableSpec("s", 1)), HasReason(Reason::kNamespacePolicy));
  EXPECT_EQ(Describe(Row(own.row.machine_id)), Describe(before));
  EXPECT_EQ(Claimed(StableSpec("s", 2)).row.machine_id, own.row.machine_id);
}

TEST_P(LeaseStoreConformance, EndlessLeaseNeverExpiresBesideOneThatDoes) {
  ClaimSpec endless = Spec("endless", 1);
  endless.safe_guard = Millis(0);
  const Lease forever = Claimed(endless);
  EXPECT_FALSE(forever.row.window_end.has_value());
  EXPECT_FALSE(forever.expires_at.has_value());
  const Lease mortal = Claimed(Spec("mortal", 1));
  Advance(kSafeGuard * 1000);
  EXPECT_EQ(Claimed(Spec("late", 1)).row.machine_id, mortal.row.machine_id);
  EXPECT_THAT(Claim(Spec("later", 1)), HasReason(Reason::kMachineIdOverflow));
  const Lease renewed = Renewed(KeyOf(forever), Now());
  EXPECT_FALSE(renewed.row.window_end.has_value());
}

TEST_P(LeaseStoreConformance, EndlessLeaseComesBackWithProofOnly) {
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease first = Claimed(endless);
  Advance(kMinute);
  for (const ComebackMode mode :
       {ComebackMode::kDefault, ComebackMode::kMove, ComebackMode::kKeep}) {
    ClaimSpec comeback = Spec("a");
    comeback.safe_guard = Millis(0);
    comeback.comeback = mode;
    EXPECT_THAT(Claim(comeback), HasReason(Reason::kWindowOpen));
  }
  EXPECT_THAT(Renew(KeyOf(first)), IsOk());
  const ClientTime reserved = Now();
  ClaimSpec proven = Spec("a");
  proven.safe_guard = Millis(0);
  proven.proof = ProofOf(first, reserved);
  const Lease second = Claimed(proven);
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.floor, reserved);
  EXPECT_FALSE(second.clock_trusted);
}

// Its end is known, so a claimant that must wait for it is told how long; another id is no way
// out of a lease without window end.
TEST_P(LeaseStoreConformance, EndlessLeaseWithAProofAheadIsWaitedFor) {
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease first = Claimed(endless);
  const LeaseRow before = Row(0);
  ClaimSpec proven = Spec("a");
  proven.safe_guard = Millis(0);
  proven.waited = Millis(200);
  proven.proof = ProofOf(first, proven.client_time + kMinute);
  const absl::StatusOr<Lease> refused = Claim(proven);
  ASSERT_THAT(refused, HasReason(Reason::kWindowOpen));
  EXPECT_EQ(storage::MetadataOf(refused.status())["until"],
            std::to_string(proven.proof->reserved_until.ms));
  EXPECT_EQ(storage::RetryAfterOf(refused.status()), kMinute - Millis(200));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, EndlessLeaseComesBackByTrustClockWhereAllowed) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 10;
  update.allow_trust_clock = true;
  update.allow_missing = true;
  Updated(update);
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease first = Claimed(endless);
  const ClientTime last = Now();
  Renewed(KeyOf(first), last);
  ClaimSpec trusting = Spec("a");
  trusting.safe_guard = Millis(0);
  trusting.comeback = ComebackMode::kTrustClock;
  const Lease second = Claimed(trusting);
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.floor, last);
  EXPECT_TRUE(second.clock_trusted);
  EXPECT_TRUE(second.superseded_live_lease) << "it never expires, so it was alive";
}

TEST_P(LeaseStoreConformance, EndlessLeaseRestsForTheQuarantineAfterAnUncleanEnd) {
  constexpr Millis kDay{24 * 3'600'000};
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease first = Claimed(endless);
  const ClientTime now = Now();
  const absl::StatusOr<ClientTime> floor = Force(0, first.row.token);
  ASSERT_THAT(floor, IsOk());
  ExpectAbout(*floor, now + kDay);
  EXPECT_EQ(Row(0).free_floor, *floor);

  const Lease second = Claimed(endless);
  EXPECT_EQ(second.row.machine_id, 1u) << "the first id rests";
  const absl::StatusOr<ClientTime> shorter = Force(1, second.row.token, kMinute);
  ASSERT_THAT(shorter, IsOk());
  ExpectAbout(*shorter, now + kMinute);

  const Lease third = Claimed(Spec("plain"));
  EXPECT_EQ(third.row.machine_id, 2u);
  Advance(kMinute);
  EXPECT_EQ(Claimed(Spec("later")).row.machine_id, 1u);
}

// What was issued ahead of all clocks, or lies under an older fence, is not forgotten.
TEST_P(LeaseStoreConformance, QuarantineBeginsAboveWatermarkAndFence) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 10;
  update.allow_trust_clock = true;
  update.allow_missing = true;
  Updated(update);
  const Lease mortal = Claimed(Spec("a"));
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  endless.comeback = ComebackMode::kTrustClock;
  const Lease trusting = Claimed(endless);
  ASSERT_TRUE(trusting.clock_trusted);
  const absl::StatusOr<ClientTime> above_fence = Force(0, trusting.row.token, Millis(1000));
  ASSERT_THAT(above_fence, IsOk());
  EXPECT_EQ(*above_fence, *mortal.row.window_end + Millis(1000));

  endless.instance_id = "b";
  endless.incarnation_id = NewIncarnation();
  const Lease ahead = Claimed(endless);
  const ClientTime last = Now() + 10 * kMinute;
  Renewed(KeyOf(ahead), last);
  const absl::StatusOr<ClientTime> above_watermark =
      Force(ahead.row.machine_id, ahead.row.token, Millis(1000));
  ASSERT_THAT(above_watermark, IsOk());
  EXPECT_EQ(*above_watermark, last + Millis(1000));
}

TEST_P(LeaseStoreConformance, EndlessLeaseOwnsNothingBeyondItsForcedEnd) {
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease lease = Claimed(endless);
  const absl::StatusOr<ClientTime> floor = Force(0, lease.row.token);
  ASSERT_THAT(floor, IsOk());
  const auto inside = store().FindOwner(kOrders, 0, *floor);
  ASSERT_THAT(inside, IsOk());
  EXPECT_EQ(inside->size(), 1u);
  const auto beyond = store().FindOwner(kOrders, 0, *floor + Millis(1));
  ASSERT_THAT(beyond, IsOk());
  EXPECT_TRUE(beyond->empty());
}

TEST_P(LeaseStoreConformance, EndlessLeaseReleasedWithoutLastTimestampRestsToo) {
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease lease = Claimed(endless);
  const ClientTime now = Now();
  Released(KeyOf(lease), std::nullopt);
  ExpectAbout(*Row(0).free_floor, now + Millis(24 * 3'600'000));
  EXPECT_THAT(Claim(Spec("b")), IsOk());
}

TEST_P(LeaseStoreConformance, EndlessLeaseReleasedCleanlyIsFreeAtOnce) {
  ClaimSpec endless = Spec("a");
  endless.safe_guard = Millis(0);
  const Lease lease = Claimed(endless);
  const ClientTime last = Now();
  Released(KeyOf(lease), last);
  const Lease next = Claimed(Spec("b"));
  EXPECT_EQ(next.row.machine_id, lease.row.machine_id);
  EXPECT_EQ(next.row.floor, last);
}

}  // namespace
}  // namespace snowlease::testing
