#include "tests/storage/lease_store_conformance.h"

// What operators do to leases and ids.

namespace snowlease::testing {
namespace {

using storage::MetadataOf;

TEST_P(LeaseStoreConformance, ForceReleaseIsUncleanAndTellsWhenTheIdIsGrantable) {
  const Lease lease = Claimed(Spec("a"));
  Renewed(KeyOf(lease), Now());
  const ClientTime end = *Row(0).window_end;
  const auto floor = Force(0, lease.row.token);
  ASSERT_THAT(floor, IsOk());
  EXPECT_EQ(*floor, end);
  EXPECT_EQ(Row(0).state, LeaseState::kFree);
  EXPECT_EQ(Row(0).fence, end);
  EXPECT_EQ(Row(0).free_floor, end);
  EXPECT_EQ(Claimed(Spec("b")).row.machine_id, 1u);
  Advance(kSafeGuard);
  const Lease next = Claimed(Spec("c"));
  EXPECT_EQ(next.row.machine_id, 0u);
  EXPECT_EQ(next.row.floor, end);
}

// M13
TEST_P(LeaseStoreConformance, RepeatedForceReleaseNeverHitsTheNextHolder) {
  const Lease lease = Claimed(Spec("a"));
  const auto floor = Force(0, lease.row.token);
  ASSERT_THAT(floor, IsOk());
  const auto repeated = Force(0, lease.row.token);
  ASSERT_THAT(repeated, IsOk());
  EXPECT_EQ(*repeated, *floor);
  Advance(kSafeGuard);
  const Lease next = Claimed(Spec("b"));
  ASSERT_EQ(next.row.machine_id, 0u);
  const LeaseRow before = Row(0);
  EXPECT_THAT(Force(0, lease.row.token), IsOk());
  EXPECT_EQ(Describe(Row(0)), Describe(before));
  EXPECT_THAT(Renew(KeyOf(next)), IsOk());
}

TEST_P(LeaseStoreConformance, ForceReleaseOfAGrantThatEndedOtherwiseIsLost) {
  EXPECT_THAT(Force(0, 1), HasReason(Reason::kNotFound));
  const Lease first = Claimed(Spec("a"));
  EXPECT_THAT(Force(9, 1), HasReason(Reason::kNotFound));
  EXPECT_THAT(Force(0, 7), HasReason(Reason::kMachineIdLost));
  Released(KeyOf(first), Now());
  EXPECT_THAT(Force(0, first.row.token), HasLossCause(EndCause::kReleased));
  const Lease second = Claimed(Spec("b"));
  EXPECT_THAT(Force(0, first.row.token), HasLossCause(EndCause::kReleased));
  EXPECT_THAT(Renew(KeyOf(second)), IsOk());
}

TEST_P(LeaseStoreConformance, KeptIdCanBeForcedFreeAndStaysClean) {
  const Lease lease = Claimed(StableSpec("s"));
  const ClientTime last = Now();
  Released(KeyOf(lease), last);
  const auto floor = Force(0, lease.row.token);
  ASSERT_THAT(floor, IsOk());
  EXPECT_EQ(*floor, last);
  const Lease next = Claimed(Spec("b"));
  EXPECT_EQ(next.row.machine_id, 0u);
  EXPECT_EQ(next.row.floor, last);
}

// S1: only force takes an id from a stable holder.
TEST_P(LeaseStoreConformance, StableLeaseCanBeForced) {
  const Lease lease = Claimed(StableSpec("s"));
  EXPECT_THAT(Force(0, lease.row.token), IsOk());
  EXPECT_THAT(Renew(KeyOf(lease)), HasLossCause(EndCause::kRevoked));
  EXPECT_EQ(Claimed(StableSpec("s")).row.machine_id, 1u) << "its id is no longer its own";
}

TEST_P(LeaseStoreConformance, ReservedIdsAreNotGranted) {
  Claimed(Spec("a", 2));
  const std::vector<uint32_t> ids = {1, 3};
  ASSERT_THAT(store().ReserveIds(kOrders, ids, kOperator), IsOk());
  EXPECT_EQ(Row(1).state, LeaseState::kReserved);
  EXPECT_EQ(Namespace().counts.reserved, 2u);
  EXPECT_EQ(Claimed(Spec("b", 2)).row.machine_id, 2u);
  Advance(kMinute);
  const absl::StatusOr<Lease> refused = Claim(Spec("c", 2));
  ASSERT_THAT(refused, HasReason(Reason::kMachineIdOverflow));
  EXPECT_EQ(MetadataOf(refused.status())["reserved"], "2");
  EXPECT_EQ(MetadataOf(refused.status())["held"], "2");
}

TEST_P(LeaseStoreConformance, OnlyFreeIdsInsideTheNamespaceAreReservedAllOrNone) {
  const std::vector<uint32_t> some = {1, 0};
  EXPECT_THAT(store().ReserveIds(kOrders, some, kOperator), HasReason(Reason::kNotFound));
  const Lease held = Claimed(Spec("a", 2));
  EXPECT_THAT(store().ReserveIds(kOrders, some, kOperator), HasReason(Reason::kNamespacePolicy));
  const std::vector<uint32_t> beyond = {1, 4};
  EXPECT_THAT(store().ReserveIds(kOrders, beyond, kOperator), Not(IsOk()));
  EXPECT_EQ(Rows().size(), 1u) << "all or none";
  EXPECT_EQ(Namespace().counts.reserved, 0u);
  Released(KeyOf(held), Now());
  EXPECT_THAT(store().ReserveIds(kOrders, some, kOperator), IsOk());

  const Lease stable = Claimed(StableSpec("s", 2));
  Released(KeyOf(stable), Now());
  const std::vector<uint32_t> kept = {stable.row.machine_id};
  EXPECT_THAT(store().ReserveIds(kOrders, kept, kOperator), HasReason(Reason::kNamespacePolicy));
}

TEST_P(LeaseStoreConformance, UnreservedIdStartsAboveTheReferenceClockOrTheGivenFloor) {
  const Lease lease = Claimed(Spec("a", 2));
  const ClientTime last = Now() + Millis(100);
  Released(KeyOf(lease), last);
  const std::vector<uint32_t> zero = {0};
  const std::vector<uint32_t> one = {1};
  ASSERT_THAT(store().ReserveIds(kOrders, zero, kOperator), IsOk());
  ASSERT_THAT(store().ReserveIds(kOrders, one, kOperator), IsOk());
  const ClientTime now = Now();
  ASSERT_THAT(store().UnreserveIds(kOrders, one, std::nullopt, kOperator), IsOk());
  ExpectAbout(*Row(1).free_floor, now + kMaxClockAhead);
  ASSERT_THAT(store().UnreserveIds(kOrders, zero, now, kOperator), IsOk());
  EXPECT_EQ(Row(0).free_floor, last) << "never below what was issued before";
  EXPECT_EQ(Namespace().counts.reserved, 0u);
  EXPECT_EQ(Namespace().counts.free, 2u);
  Advance(kMaxClockAhead);
  const Lease next = Claimed(Spec("b", 2));
  EXPECT_EQ(next.row.machine_id, 0u);
  EXPECT_EQ(next.row.token, lease.row.token + 1) << "T1";
  EXPECT_GE(Claimed(Spec("c", 2)).row.floor, now + kMaxClockAhead);
}

TEST_P(LeaseStoreConformance, OnlyReservedIdsAreUnreserved) {
  const Lease held = Claimed(Spec("a", 2));
  const std::vector<uint32_t> ids = {0};
  const LeaseRow before = Row(0);
  EXPECT_THAT(store().UnreserveIds(kOrders, ids, std::nullopt, kOperator),
              HasReason(Reason::kNamespacePolicy));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
  EXPECT_THAT(Renew(KeyOf(held)), IsOk());
}

TEST_P(LeaseStoreConformance, NamespaceCanGrowButNotShrink) {
  ClaimedMany("i", 2, 1);
  EXPECT_THAT(Claim(Spec("more", 2)), HasReason(Reason::kNamespacePolicy));
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 2;
  Updated(update);
  EXPECT_EQ(Claimed(Spec("more", 2)).row.machine_id, 2u);
  update.machine_bits = 1;
  EXPECT_THAT(store().UpdateNamespace(update, kOperator), HasReason(Reason::kNamespacePolicy));
  EXPECT_EQ(Namespace().machine_bits, 2);
}

TEST_P(LeaseStoreConformance, UpdateOfAMissingNamespaceIsNotFoundUnlessItMayBeMade) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 4;
  EXPECT_THAT(store().UpdateNamespace(update, kOperator), HasReason(Reason::kNotFound));
  update.allow_missing = true;
  const auto made = store().UpdateNamespace(update, kOperator);
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ(made->machine_bits, 4);
  ClaimSpec spec = Spec("a", 4);
  spec.may_create_namespace = false;
  EXPECT_THAT(Claim(spec), IsOk());
}

TEST_P(LeaseStoreConformance, UpdateChangesWhatItNamesAndLeavesTheRest) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 4;
  update.pinned_safe_guard = kMinute;
  update.allow_trust_clock = true;
  update.lease_cap = 7;
  update.allow_missing = true;
  Updated(update);
  storage::NamespaceUpdate clear;
  clear.name = kOrders;
  clear.pinned_safe_guard.emplace(std::nullopt);
  Updated(clear);
  const storage::NamespaceRow row = Namespace();
  EXPECT_FALSE(row.policy.pinned_safe_guard.has_value());
  EXPECT_TRUE(row.policy.allow_trust_clock);
  EXPECT_EQ(row.policy.lease_cap, 7u);
  EXPECT_EQ(row.machine_bits, 4);
  storage::NamespaceUpdate forbid;
  forbid.name = kOrders;
  forbid.allow_trust_clock = false;
  Updated(forbid);
  EXPECT_FALSE(Namespace().policy.allow_trust_clock);
}

TEST_P(LeaseStoreConformance, EveryAdminWriteLeavesAnAuditRowAndRefusedOnesNone) {
  const Lease lease = Claimed(Spec("a", 2));
  const std::vector<uint32_t> ids = {3};
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.lease_cap = 3;
  Updated(update);
  ASSERT_THAT(store().ReserveIds(kOrders, ids, kOperator), IsOk());
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty));
  ASSERT_THAT(store().UnreserveIds(kOrders, ids, ClientTime{1}, kOperator), IsOk());
  ASSERT_THAT(Force(0, lease.row.token), IsOk());
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());

  const auto audit = store().ListAudit(kOrders, 100);
  ASSERT_THAT(audit, IsOk());
  std::vector<std::string> actions;
  for (const storage::AuditRow& row : *audit) {
    actions.push_back(row.action);
    EXPECT_EQ(row.actor, kOperator.actor);
    EXPECT_EQ(row.reason, kOperator.reason);
    EXPECT_EQ(row.name_space, kOrders);
  }
  EXPECT_THAT(actions, ::testing::ElementsAre("DeleteNamespace", "ForceRelease", "UnreserveIds",
                                              "ReserveIds", "UpdateNamespace"));
  EXPECT_EQ((*audit)[1].machine_id, 0u);
  const auto newest = store().ListAudit(kOrders, 2);
  ASSERT_THAT(newest, IsOk());
  ASSERT_EQ(newest->size(), 2u);
  EXPECT_EQ(newest->front().action, "DeleteNamespace");
}

}  // namespace
}  // namespace snowlease::testing
