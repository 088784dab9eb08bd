#include "tests/storage/lease_store_conformance.h"

// Expiry, and clocks that are wrong.

namespace snowlease::testing {
namespace {

using storage::MetadataOf;

// L1, F26: exactly at the safe guard, not a millisecond before.
TEST_P(LeaseStoreConformance, LeaseExpiresExactlyAtItsSafeGuard) {
  const Lease dead = Claimed(Spec("dead", 1));
  Claimed(StableSpec("other", 1));
  Advance(kSafeGuard - Millis(1) - harness().ClockSlack());
  EXPECT_THAT(Claim(Spec("taker", 1)), HasReason(Reason::kMachineIdOverflow));
  Advance(Millis(1) + harness().ClockSlack());
  const Lease taken = Claimed(Spec("taker", 1));
  EXPECT_EQ(taken.row.machine_id, dead.row.machine_id);
}

TEST_P(LeaseStoreConformance, LeaseIsTakenOverOneMillisecondAfterItsSafeGuardAsWell) {
  Claimed(Spec("dead", 1));
  Claimed(StableSpec("other", 1));
  Advance(kSafeGuard + Millis(1));
  EXPECT_EQ(Claimed(Spec("taker", 1)).row.source, LeaseSource::kExpired);
}

// F26: restarts of the servers count for nothing.
TEST_P(LeaseStoreConformance, DeadHoldersIdIsFreeAtTheSafeGuardAcrossRestarts) {
  const Lease dead = Claimed(Spec("dead", 1));
  const Lease stable = Claimed(StableSpec("other", 1));
  for (int i = 0; i < 5; ++i) {
    Advance(kSafeGuard / 5 - Millis(20));
    harness().Reopen();
    EXPECT_THAT(Claim(Spec("taker" + std::to_string(i), 1)), HasReason(Reason::kMachineIdOverflow));
  }
  EXPECT_THAT(Renew(KeyOf(stable)), IsOk());
  Advance(Millis(100));
  EXPECT_EQ(Claimed(Spec("taker", 1)).row.machine_id, dead.row.machine_id);
}

// A1, for stores that outlive their process.
TEST_P(LeaseStoreConformance, WhatWasAcknowledgedIsThereAfterARestart) {
  ClaimedMany("i", 5, 4);
  Released(KeyOf(Claimed(StableSpec("s", 4))), Now());
  const std::vector<uint32_t> ids = {9};
  ASSERT_THAT(store().ReserveIds(kOrders, ids, kOperator), IsOk());
  const std::string rows = Describe(Rows());
  const std::string name_space = Describe(Namespace());
  const std::string history = Describe(Grants(0));
  const std::string audit = Describe(store().ListAudit(kOrders, 10));
  const std::string id = store().StoreId();
  harness().Reopen();
  EXPECT_EQ(Describe(Rows()), rows);
  EXPECT_EQ(Describe(Namespace()), name_space);
  EXPECT_EQ(Describe(Grants(0)), history);
  EXPECT_EQ(Describe(store().ListAudit(kOrders, 10)), audit);
  EXPECT_EQ(store().StoreId(), id);
}

// F25
TEST_P(LeaseStoreConformance, HoldersDurationDecidesNotTheClaimants) {
  const Lease patient = Claimed(Spec("patient", 1));
  Claimed(StableSpec("other", 1));
  Advance(2 * kMinute);
  ClaimSpec hasty = Spec("hasty", 1);
  hasty.safe_guard = kMinute;
  EXPECT_THAT(Claim(hasty), HasReason(Reason::kMachineIdOverflow));
  EXPECT_THAT(Renew(KeyOf(patient)), IsOk());
  Advance(kSafeGuard);
  hasty.client_time = Now();
  EXPECT_EQ(Claimed(hasty).row.safe_guard, kMinute);
  Advance(kMinute);
  EXPECT_THAT(Claim(Spec("late", 1)), IsOk()) << "the new holder's own duration counts now";
}

// F12: a claim from a clock too far ahead poisons nothing.
TEST_P(LeaseStoreConformance, ClaimFromAClockTooFarAheadIsRefusedAndLeavesNothing) {
  ClaimSpec spec = Spec("a");
  spec.client_time = Now() + kMaxClockAhead + Millis(1) + harness().ClockSlack();
  const absl::StatusOr<Lease> refused = Claim(spec);
  ASSERT_THAT(refused, HasReason(Reason::kClockSkew));
  EXPECT_EQ(MetadataOf(refused.status())["allowed_ms"], "60000");
  EXPECT_THAT(store().GetNamespace(kOrders), HasReason(Reason::kNotFound));
  spec.client_time = Now() + Millis(50ll * 86'400'000);
  EXPECT_THAT(Claim(spec), HasReason(Reason::kClockSkew));
  spec.client_time = Now() + kMaxClockAhead;
  const Lease lease = Claimed(spec);
  EXPECT_EQ(*lease.row.window_end, spec.client_time + kWindow);
}

TEST_P(LeaseStoreConformance, ClaimFromAClockFarBehindGetsAWindowOfItsOwnTime) {
  ClaimSpec spec = Spec("a");
  spec.client_time = Now() - Millis(3'600'000);
  const Lease lease = Claimed(spec);
  EXPECT_EQ(*lease.row.window_end, spec.client_time + kWindow);
  EXPECT_EQ(lease.row.floor, ClientTime{0});
}

// The window is never below the floor, or the trimmed row would fall under it.
TEST_P(LeaseStoreConformance, WindowEndIsNeverBelowTheFloor) {
  ClaimSpec ahead = Spec("a");
  ahead.client_time = Now() + Millis(50'000);
  const Lease first = Claimed(ahead);
  const ClientTime last = *first.row.window_end;
  Released(KeyOf(first), last);
  ClaimSpec tiny = Spec("b");
  tiny.window = Millis(1);
  tiny.max_wait = Millis(600'000);
  const Lease second = Claimed(tiny);
  ASSERT_EQ(second.row.machine_id, 0u);
  EXPECT_EQ(second.row.floor, last);
  EXPECT_GE(*second.row.window_end, last);
}

// M11: a store clock that leapt evicts nobody and refuses no renewal.
TEST_P(LeaseStoreClockSteps, StoreClockThatLeapsForwardEvictsNobody) {
  const Lease lease = Claimed(Spec("a", 1));
  Claimed(Spec("b", 1));
  harness().StepStoreClock(Millis(3'600'000));
  const absl::StatusOr<Lease> refused = Claim(Spec("c", 1));
  ASSERT_THAT(refused, HasReason(Reason::kMachineIdOverflow));
  EXPECT_EQ(MetadataOf(refused.status())["takeovers_paused"], "true");
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty));
  const Lease renewed = Renewed(KeyOf(lease), Now());
  EXPECT_EQ(*renewed.row.window_end, Now() + kWindow);
  EXPECT_EQ(renewed.row.renewed_at, harness().StoreNow());
}

// M11
TEST_P(LeaseStoreClockSteps, StoreClockThatLeapsBackRefusesNoRenewal) {
  const Lease lease = Claimed(Spec("a", 1));
  harness().StepStoreClock(Millis(-3'600'000));
  Advance(kMinute);
  const Lease renewed = Renewed(KeyOf(lease), Now());
  EXPECT_EQ(*renewed.row.window_end, Now() + kWindow);
  EXPECT_EQ(renewed.row.renewed_at, harness().StoreNow()) << "also when that is earlier";
  EXPECT_FALSE(renewed.client_clock_ahead) << "the host's clock is the reference";
  EXPECT_THAT(Claim(Spec("b", 1)), IsOk());
}

TEST_P(LeaseStoreClockSteps, TakeoversPauseOnlyBeyondTheAllowedDifference) {
  Claimed(Spec("a", 1));
  Claimed(StableSpec("b", 1));
  Advance(2 * kSafeGuard);
  for (const Millis side : {Millis(1), Millis(-1)}) {
    harness().StepStoreClock((kMaxClockAhead + Millis(1)) * side.count());
    EXPECT_THAT(Claim(Spec("c", 1)), HasReason(Reason::kMachineIdOverflow));
    harness().StepStoreClock((kMaxClockAhead + Millis(1)) * -side.count());
  }
  harness().StepStoreClock(kMaxClockAhead);
  EXPECT_EQ(Claimed(Spec("c", 1)).row.source, LeaseSource::kExpired);
}

// A leap that does not pause takeovers still robs nobody who lives: the window is ahead.
TEST_P(LeaseStoreClockSteps, SmallLeapTakesNoIdWhoseWindowIsOpen) {
  const Lease lease = Claimed(Spec("a", 1));
  Claimed(StableSpec("b", 1));
  Advance(kSafeGuard - Millis(30'000));
  harness().StepStoreClock(Millis(50'000));
  EXPECT_THAT(Claim(Spec("c", 1)), HasReason(Reason::kClockBehind));
  EXPECT_THAT(Renew(KeyOf(lease)), IsOk());
}

TEST_P(LeaseStoreClockSteps, ReferenceClockIsTheLaterOfStoreAndHost) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime now = Now();
  harness().StepStoreClock(Millis(30'000));
  const absl::StatusOr<Lease> renewed = RenewAt(KeyOf(lease), now + Millis(500'000));
  ASSERT_THAT(renewed, IsOk());
  EXPECT_EQ(*renewed->row.window_end, now + Millis(30'000) + kMaxClockAhead + kWindow);
  ClaimSpec ahead = Spec("b");
  ahead.client_time = now + Millis(30'000) + kMaxClockAhead;
  EXPECT_THAT(Claim(ahead), IsOk());
  ahead = Spec("c");
  ahead.client_time = now + Millis(30'001) + kMaxClockAhead;
  EXPECT_THAT(Claim(ahead), HasReason(Reason::kClockSkew));
}

TEST_P(LeaseStoreClockSteps, FloorsCountAsAheadOfTheReferenceClockOnly) {
  const Lease lease = Claimed(Spec("a"));
  Released(KeyOf(lease), Now());
  harness().StepStoreClock(Millis(-3'600'000));
  Advance(Millis(1'000));
  const auto detail = store().GetNamespace(kOrders);
  ASSERT_THAT(detail, IsOk());
  EXPECT_EQ(detail->free_ahead, 0u) << "the host's clock is past the floor";
}

// M21: whatever was remembered of expiries while the clock was ahead is forgotten.
TEST_P(LeaseStoreClockSteps, IdIsFreeAtTheSafeGuardAfterALeapThatWasCorrected) {
  for (const Millis leap : {Millis(3'600'000), Millis(50'000)}) {
    const std::vector<Lease> leases = ClaimedMany("i" + std::to_string(leap.count()), 2, 1);
    harness().StepStoreClock(leap);
    Renewed(KeyOf(leases[0]));
    Renewed(KeyOf(leases[1]));
    EXPECT_THAT(Claim(Spec("early", 1)), Not(IsOk()));  // looks at every row
    harness().StepStoreClock(-leap);
    const Lease last = Renewed(KeyOf(leases[0]));
    Renewed(KeyOf(leases[1]));
    EXPECT_EQ(last.row.renewed_at, harness().StoreNow());
    Advance(kSafeGuard - Millis(1));
    Renewed(KeyOf(leases[1]));
    EXPECT_THAT(Claim(Spec("early", 1)), HasReason(Reason::kMachineIdOverflow));
    Advance(Millis(1));
    const Lease taken = Claimed(Spec("taker", 1));
    EXPECT_EQ(taken.row.machine_id, last.row.machine_id);
    Released(KeyOf(taken), Now());
    Released(KeyOf(leases[1]), Now());
  }
}

TEST_P(LeaseStoreClockSteps, ClaimAfterACorrectedLeapIsFoundAtItsSafeGuard) {
  const std::vector<Lease> leases = ClaimedMany("i", 2, 1);
  harness().StepStoreClock(Millis(50'000));
  for (const Lease& lease : leases) Renewed(KeyOf(lease));
  EXPECT_THAT(Claim(Spec("early", 1)), Not(IsOk()));
  harness().StepStoreClock(Millis(-50'000));
  ClaimSpec comeback = Spec("i0", 1);
  comeback.proof = ProofOf(leases[0], Now());
  const Lease second = Claimed(comeback);
  Advance(kSafeGuard);
  EXPECT_EQ(Claimed(Spec("taker", 1)).row.machine_id, second.row.machine_id);
}

TEST_P(LeaseStoreClockSteps, RetriedClaimAfterACorrectedLeapIsFoundAtItsSafeGuard) {
  harness().StepStoreClock(Millis(50'000));
  const ClaimSpec spec = Spec("a", 1);
  const Lease lease = Claimed(spec);
  Claimed(StableSpec("b", 1));
  EXPECT_THAT(Claim(Spec("early", 1)), Not(IsOk()));
  harness().StepStoreClock(Millis(-50'000));
  Claimed(spec);
  Advance(kSafeGuard);
  EXPECT_EQ(Claimed(Spec("taker", 1)).row.machine_id, lease.row.machine_id);
}

}  // namespace
}  // namespace snowlease::testing
