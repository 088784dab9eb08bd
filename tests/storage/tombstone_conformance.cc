#include <algorithm>

#include "tests/storage/lease_store_conformance.h"

// Namespaces that are deleted and made again.

namespace snowlease::testing {
namespace {

// M06
TEST_P(LeaseStoreConformance, RecreatedNamespaceStartsAboveTheOldFloorsAndTokens) {
  for (int i = 0; i < 3; ++i) Released(KeyOf(Claimed(Spec("busy"))), Now());
  const Lease expired = Claimed(Spec("expired"));
  ASSERT_EQ(expired.row.token, 4u);
  Advance(kSafeGuard);
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  EXPECT_THAT(store().GetNamespace(kOrders), HasReason(Reason::kNotFound));
  EXPECT_THAT(store().GetLease(kOrders, 0), HasReason(Reason::kNotFound));
  EXPECT_THAT(Renew(KeyOf(expired)), HasLossCause(EndCause::kUnknown));

  for (const char* instance : {"a", "b"}) {
    const Lease lease = Claimed(Spec(instance));
    EXPECT_GE(lease.row.floor, *expired.row.window_end);
    EXPECT_EQ(lease.row.token, expired.row.token + 1);
    EXPECT_EQ(lease.row.source, LeaseSource::kNew);
  }
  EXPECT_THAT(Renew(KeyOf(expired)), HasReason(Reason::kMachineIdLost));
}

// M18
TEST_P(LeaseStoreConformance, NamespaceDeletedTwiceKeepsItsFloors) {
  const Lease expired = Claimed(Spec("expired"));
  Advance(kSafeGuard);
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNotFound));
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 3;
  update.allow_missing = true;
  Updated(update);
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  const Lease lease = Claimed(Spec("a"));
  EXPECT_GE(lease.row.floor, *expired.row.window_end);
  EXPECT_GT(lease.row.token, expired.row.token);
}

// M18
TEST_P(LeaseStoreConformance, NamespaceWithLiveKeptOrReservedIdsIsNotDeleted) {
  const Lease lease = Claimed(Spec("a"));
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty));
  Released(KeyOf(lease), Now());
  const std::vector<uint32_t> ids = {5};
  ASSERT_THAT(store().ReserveIds(kOrders, ids, kOperator), IsOk());
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty));
  ASSERT_THAT(store().UnreserveIds(kOrders, ids, std::nullopt, kOperator), IsOk());
  const Lease stable = Claimed(StableSpec("s"));
  Advance(kSafeGuard * 100);
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty))
      << "a stable lease does not expire";
  Released(KeyOf(stable), Now());
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty))
      << "kept";
  ASSERT_THAT(Force(stable.row.machine_id, stable.row.token), IsOk());
  ClaimSpec endless = Spec("endless");
  endless.safe_guard = Millis(0);
  const Lease forever = Claimed(endless);
  Advance(kSafeGuard * 100);
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), HasReason(Reason::kNamespaceNotEmpty))
      << "an endless lease does not expire";
  Released(KeyOf(forever), Now());
  EXPECT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  EXPECT_THAT(store().DeleteNamespace("missing", kOperator), HasReason(Reason::kNotFound));
}

// The highest floor counts, be it of a free id, a quarantine or an unreserved one.
TEST_P(LeaseStoreConformance, TombstoneHoldsTheHighestFloorOfAllIds) {
  ClaimSpec endless = Spec("endless");
  endless.safe_guard = Millis(0);
  const Lease forever = Claimed(endless);
  Claimed(Spec("plain"));
  const auto rest = Force(0, forever.row.token);
  ASSERT_THAT(rest, IsOk());
  Advance(kSafeGuard);
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  const absl::StatusOr<Lease> early = Claim(Spec("a"));
  EXPECT_THAT(early, HasReason(Reason::kClockBehind)) << "also never-used ids start there";
  EXPECT_EQ(storage::MetadataOf(early.status())["lowest_floor_ms"], std::to_string(rest->ms));
  EXPECT_THAT(store().GetNamespace(kOrders), HasReason(Reason::kNotFound))
      << "a refused claim makes no namespace";
  Advance(Millis(24 * 3'600'000));
  EXPECT_EQ(Claimed(Spec("a")).row.floor, *rest);
}

TEST_P(LeaseStoreConformance, ReservedAndUnreservedIdsOfARecreatedNamespaceStartAboveItToo) {
  const Lease expired = Claimed(Spec("expired"));
  Advance(kSafeGuard);
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  Claimed(Spec("a", 1));
  const std::vector<uint32_t> ids = {1};
  ASSERT_THAT(store().ReserveIds(kOrders, ids, kOperator), IsOk());
  ASSERT_THAT(store().UnreserveIds(kOrders, ids, ClientTime{0}, kOperator), IsOk());
  const Lease second = Claimed(Spec("b", 1));
  EXPECT_EQ(second.row.machine_id, 1u);
  EXPECT_GE(second.row.floor, *expired.row.window_end);
  EXPECT_GT(second.row.token, expired.row.token);
}

TEST_P(LeaseStoreConformance, RecreatedNamespaceHasItsOwnSizePolicyAndHistory) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 8;
  update.lease_cap = 1;
  update.pinned_safe_guard = kSafeGuard;
  update.allow_missing = true;
  Updated(update);
  Released(KeyOf(Claimed(Spec("a", 8))), Now());
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  const auto listed = store().ListNamespaces("", 10);
  ASSERT_THAT(listed, IsOk());
  EXPECT_TRUE(listed->empty());
  ClaimSpec spec = Spec("b", 2);
  spec.safe_guard = kMinute;
  spec.may_create_namespace = false;
  EXPECT_THAT(Claim(spec), HasReason(Reason::kNamespacePolicy));
  spec.may_create_namespace = true;
  Claimed(spec);
  EXPECT_EQ(Namespace().machine_bits, 2);
  EXPECT_FALSE(Namespace().policy.lease_cap.has_value());
  EXPECT_EQ(Namespace().counts.held, 1u);
  EXPECT_EQ(Namespace().counts.free, 0u);
  EXPECT_EQ(Grants(0).size(), 1u);
}

}  // namespace
}  // namespace snowlease::testing
