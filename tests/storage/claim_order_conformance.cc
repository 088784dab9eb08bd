#include <algorithm>
#include <set>

#include "tests/storage/lease_store_conformance.h"

// Which machine id a claim gets.

namespace snowlease::testing {
namespace {

using storage::MetadataOf;

TEST_P(LeaseStoreConformance, ClaimTakesOwnThenReleasedThenNeverUsedThenExpired) {
  ClaimSpec dying = Spec("dying", 2);
  dying.safe_guard = kMinute;
  const Lease dead = Claimed(dying);
  const Lease gone = Claimed(Spec("gone", 2));
  const Lease own = Claimed(Spec("own", 2));
  Released(KeyOf(gone), Now());
  Advance(2 * kMinute);  // "dying" is expired, "own" is not, the fourth number was never used

  ClaimSpec comeback = Spec("own", 2);
  comeback.proof = ProofOf(own, Now());
  const Lease first = Claimed(comeback);
  EXPECT_EQ(first.row.source, LeaseSource::kOwn);
  EXPECT_EQ(first.row.machine_id, own.row.machine_id);
  const Lease second = Claimed(Spec("b", 2));
  EXPECT_EQ(second.row.source, LeaseSource::kReleased);
  EXPECT_EQ(second.row.machine_id, gone.row.machine_id);
  const Lease third = Claimed(Spec("c", 2));
  EXPECT_EQ(third.row.source, LeaseSource::kNew);
  EXPECT_EQ(third.row.machine_id, 3u);
  const Lease fourth = Claimed(Spec("d", 2));
  EXPECT_EQ(fourth.row.source, LeaseSource::kExpired);
  EXPECT_EQ(fourth.row.machine_id, dead.row.machine_id);
  EXPECT_THAT(Claim(Spec("e", 2)), HasReason(Reason::kMachineIdOverflow));
}

TEST_P(LeaseStoreConformance, FirstClaimsCountUpFromZero) {
  for (uint32_t id = 0; id < 5; ++id) {
    const Lease lease = Claimed(Spec("i" + std::to_string(id)));
    EXPECT_EQ(lease.row.machine_id, id);
    EXPECT_EQ(lease.row.token, 1u);
    EXPECT_EQ(lease.row.source, LeaseSource::kNew);
    EXPECT_EQ(lease.row.state, LeaseState::kHeld);
  }
}

TEST_P(LeaseStoreConformance, LowestFloorIsFirstAmongReleased) {
  const std::vector<Lease> leases = ClaimedMany("i", 4, 2);
  const ClientTime now = Now();
  const Millis lasts[] = {Millis(30), Millis(10), Millis(40), Millis(20)};
  for (int i = 0; i < 4; ++i) Released(KeyOf(leases[i]), now + lasts[i]);
  for (const uint32_t expected : {1u, 3u, 0u, 2u}) {
    const Lease lease = Claimed(Spec("next" + std::to_string(expected), 2));
    EXPECT_EQ(lease.row.machine_id, expected);
    EXPECT_EQ(lease.row.floor, now + lasts[expected]);
  }
}

TEST_P(LeaseStoreConformance, LongestExpiredIsTakenFirst) {
  const Millis durations[] = {Millis(60'000), Millis(120'000), Millis(30'000), kSafeGuard};
  for (int i = 0; i < 4; ++i) {
    ClaimSpec spec = Spec("i" + std::to_string(i), 2);
    spec.safe_guard = durations[i];
    Claimed(spec);
  }
  Advance(Millis(130'000));
  for (const uint32_t expected : {2u, 0u, 1u}) {
    EXPECT_EQ(Claimed(Spec("next" + std::to_string(expected), 2)).row.machine_id, expected);
  }
  EXPECT_THAT(Claim(Spec("late", 2)), HasReason(Reason::kMachineIdOverflow));
}

// The order holds over a whole namespace, however a backend finds expired rows, and
// after renewals have moved some of them.
TEST_P(LeaseStoreConformance, LongestExpiredIsFirstAmongAThousand) {
  constexpr int kIds = 1024;
  std::vector<ClaimSpec> specs;
  std::vector<std::pair<Millis, uint32_t>> order;
  for (uint32_t i = 0; i < kIds; ++i) {
    specs.push_back(Spec("i" + std::to_string(i)));
    // A permutation of 0..1023, in steps wider than the clock can run by itself.
    specs.back().safe_guard = kMinute + Millis(static_cast<int64_t>((i * 389 + 17) % kIds) * 100);
    order.emplace_back(specs.back().safe_guard, i);
  }
  std::vector<RenewSpec> renewals;
  for (const absl::StatusOr<Lease>& lease : store().Claim(specs, {})) {
    ASSERT_THAT(lease, IsOk());
    if (lease->row.machine_id % 5 == 0) renewals.push_back({KeyOf(*lease), {}, Now()});
  }
  EXPECT_THAT(Claim(Spec("early")), HasReason(Reason::kMachineIdOverflow));
  Advance(Millis(30'000));
  for (RenewSpec& renewal : renewals) renewal.client_time = Now();
  for (const absl::StatusOr<Lease>& lease : store().Renew(renewals, {})) {
    ASSERT_THAT(lease, IsOk());
    order[lease->row.machine_id].first += Millis(30'000);
  }
  std::sort(order.begin(), order.end());
  Advance(kMinute * 4);
  // Renewed and not renewed ones can expire at the same moment: compare the moments.
  std::vector<Millis> expires(kIds);
  for (const auto& [expiry, id] : order) expires[id] = expiry;
  std::set<uint32_t> taken;
  for (int i = 0; i < 300; ++i) {
    const Lease lease = Claimed(Spec("next" + std::to_string(i)));
    ASSERT_EQ(lease.row.source, LeaseSource::kExpired);
    ASSERT_EQ(expires[lease.row.machine_id], order[i].first) << "claim " << i;
    ASSERT_TRUE(taken.insert(lease.row.machine_id).second);
  }
}

TEST_P(LeaseStoreConformance, ReleasedIdWithFloorAheadOfTheClaimantIsPassedOver) {
  const Lease lease = Claimed(Spec("a"));
  Released(KeyOf(lease), Now() + Millis(10'000));
  const LeaseRow before = Row(0);
  EXPECT_EQ(Claimed(Spec("b")).row.machine_id, 1u);
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, FloorWithinWaitedAndMaxWaitIsGrantedOneMillisecondMoreIsNot) {
  const Lease lease = Claimed(Spec("a", 1));
  Claimed(Spec("b", 1));
  const ClientTime floor = Now() + Millis(10'000);
  Released(KeyOf(lease), floor);
  ClaimSpec spec = Spec("c", 1);
  spec.client_time = floor - Millis(701);
  spec.waited = Millis(200);
  spec.max_wait = Millis(500);
  EXPECT_THAT(Claim(spec), HasReason(Reason::kClockBehind));
  spec.client_time = floor - Millis(700);
  const Lease granted = Claimed(spec);
  EXPECT_EQ(granted.row.floor, floor);
  EXPECT_EQ(granted.row.machine_id, lease.row.machine_id);
}

// F11: the id stays free for a claimant with a better clock.
TEST_P(LeaseStoreConformance, ClockBehindWhenOnlyIdsAheadAreLeft) {
  const std::vector<Lease> leases = ClaimedMany("i", 2, 1);
  const ClientTime now = Now();
  Released(KeyOf(leases[0]), now + Millis(20'000));
  Released(KeyOf(leases[1]), now + Millis(10'000));
  ClaimSpec spec = Spec("slow", 1);
  spec.client_time = now;
  spec.waited = Millis(200);
  const absl::StatusOr<Lease> refused = Claim(spec);
  ASSERT_THAT(refused, HasReason(Reason::kClockBehind));
  EXPECT_EQ(MetadataOf(refused.status())["lowest_floor_ms"],
            std::to_string((now + Millis(10'000)).ms));
  EXPECT_EQ(MetadataOf(refused.status())["wait_ms"], "9800");
  EXPECT_EQ(Namespace().counts.free, 2u);

  spec.client_time = now + Millis(10'000);
  EXPECT_EQ(Claimed(spec).row.machine_id, leases[1].row.machine_id);
}

TEST_P(LeaseStoreConformance, ClockBehindTellsTheLowestFloorOfAllSources) {
  ClaimSpec fast = Spec("fast", 1);
  fast.client_time = Now() + Millis(50'000);
  const Lease expired = Claimed(fast);
  const Lease free = Claimed(Spec("free", 1));
  Advance(kSafeGuard);
  ClaimSpec spec = Spec("slow", 1);
  spec.client_time = *expired.row.window_end - Millis(1000);
  Renewed(KeyOf(free));
  Released(KeyOf(free), Now() + kMinute);
  for (const Millis behind : {Millis(1000), kMinute * 10}) {
    spec.client_time = *expired.row.window_end - behind;
    const absl::StatusOr<Lease> refused = Claim(spec);
    ASSERT_THAT(refused, HasReason(Reason::kClockBehind));
    EXPECT_EQ(MetadataOf(refused.status())["lowest_floor_ms"],
              std::to_string(expired.row.window_end->ms));
  }
}

// Nobody is robbed for a claimant that cannot use the id.
TEST_P(LeaseStoreConformance, ExpiredIdWithWindowAheadOfTheClaimantIsLeftToItsHolder) {
  ClaimSpec fast = Spec("fast", 1);
  fast.client_time = Now() + Millis(50'000);
  const Lease ahead = Claimed(fast);
  const Lease other = Claimed(Spec("other", 1));
  Advance(kSafeGuard + Millis(1000));
  Renewed(KeyOf(other));
  EXPECT_THAT(Claim(Spec("late", 1)), HasReason(Reason::kClockBehind));
  EXPECT_THAT(Renew(KeyOf(ahead)), IsOk());
}

TEST_P(LeaseStoreConformance, ExpiredIdsAheadArePassedOverForOneThatFits) {
  ClaimSpec fast = Spec("fast", 1);
  fast.client_time = Now() + Millis(50'000);
  Claimed(fast);
  Advance(Millis(1000));
  const Lease good = Claimed(Spec("good", 1));
  Advance(kSafeGuard);
  const Lease taken = Claimed(Spec("late", 1));
  EXPECT_EQ(taken.row.machine_id, good.row.machine_id);
}

// F27, F30, O1: never a wrapped id; what is released next is exactly what comes next.
TEST_P(LeaseStoreConformance, FullNamespaceOverflowsAndReleasedIdComesNext) {
  const std::vector<Lease> leases = ClaimedMany("i", 8, 3);
  const absl::StatusOr<Lease> refused = Claim(Spec("more", 3));
  ASSERT_THAT(refused, HasReason(Reason::kMachineIdOverflow));
  storage::ErrorMetadata metadata = MetadataOf(refused.status());
  EXPECT_EQ(metadata["namespace"], kOrders);
  EXPECT_EQ(metadata["size"], "8");
  EXPECT_EQ(metadata["held"], "8");
  EXPECT_EQ(metadata["reserved"], "0");
  ASSERT_TRUE(metadata.contains("next_expiry_ms"));
  // A lower bound is allowed where looking at every row would cost too much.
  EXPECT_LE(std::stoll(metadata["next_expiry_ms"]), leases[0].expires_at->ms);
  EXPECT_GE(std::stoll(metadata["next_expiry_ms"]), leases[0].store_time.ms);

  Released(KeyOf(leases[5]), Now());
  EXPECT_EQ(Claimed(Spec("more", 3)).row.machine_id, leases[5].row.machine_id);
  EXPECT_THAT(Claim(Spec("again", 3)), HasReason(Reason::kMachineIdOverflow));
}

// F28
TEST_P(LeaseStoreConformance, FiveThousandCleanRestartsUseOneId) {
  for (int i = 0; i < harness().Rounds(5000); ++i) {
    const Lease lease = Claimed(Spec("restarting"));
    ASSERT_EQ(lease.row.machine_id, 0u);
    ASSERT_EQ(lease.row.token, static_cast<uint64_t>(i) + 1);
    Released(KeyOf(lease), Now());
  }
  EXPECT_EQ(Rows().size(), 1u);
  EXPECT_EQ(Namespace().next_machine_id, 1u);
  EXPECT_LE(Grants(0).size(), 16u);
}

// F30
TEST_P(LeaseStoreConformance, TwelveAndTwentyBitsWork) {
  for (const int bits : {12, 20}) {
    ClaimSpec spec = Spec("a", bits);
    spec.name_space = "bits" + std::to_string(bits);
    EXPECT_EQ(Claimed(spec).row.machine_id, 0u);
    EXPECT_EQ(Namespace(spec.name_space).machine_bits, bits);
  }
}

TEST_P(LeaseStoreConformance, OneBitHoldsTwo) {
  EXPECT_EQ(Claimed(Spec("a", 1)).row.machine_id, 0u);
  EXPECT_EQ(Claimed(Spec("b", 1)).row.machine_id, 1u);
  EXPECT_THAT(Claim(Spec("c", 1)), HasReason(Reason::kMachineIdOverflow));
}

// F04: the first claim fixes the size; it does not change under the namespace.
TEST_P(LeaseStoreConformance, MoreBitsThanTheNamespaceAreRefused) {
  Claimed(Spec("a", 4));
  EXPECT_THAT(Claim(Spec("b", 5)), HasReason(Reason::kNamespacePolicy));
  EXPECT_EQ(Namespace().machine_bits, 4);
  EXPECT_EQ(Rows().size(), 1u);
}

// F04: no id that does not fit is ever granted, from whatever source.
TEST_P(LeaseStoreConformance, FewerBitsAreServedFromTheIdsThatFit) {
  std::vector<Lease> leases = ClaimedMany("i", 2, 3, kMinute);
  for (int i = 2; i < 4; ++i) {
    ClaimSpec soon = Spec("i" + std::to_string(i), 3);
    soon.safe_guard = kMinute / 2;
    leases.push_back(Claimed(soon));
  }
  Released(KeyOf(leases[3]), ClientTime{0});
  Released(KeyOf(leases[1]), Now());
  EXPECT_EQ(Claimed(Spec("a", 1)).row.machine_id, 1u);  // not 3, although its floor is lower
  EXPECT_THAT(Claim(Spec("b", 1)), HasReason(Reason::kMachineIdOverflow));  // neither 3 nor 4
  Advance(kMinute);
  const Lease taken = Claimed(Spec("c", 1));  // not 2, expired for longer
  EXPECT_EQ(taken.row.machine_id, 0u);
  EXPECT_EQ(taken.row.source, LeaseSource::kExpired);
}

// S1
TEST_P(LeaseStoreConformance, StableClaimantTakesNoExpiredLease) {
  ClaimedMany("i", 2, 1);
  Advance(2 * kSafeGuard);
  EXPECT_THAT(Claim(StableSpec("stable", 1)), HasReason(Reason::kMachineIdOverflow));
  EXPECT_THAT(Claim(Spec("plain", 1)), IsOk());
}

// S1
TEST_P(LeaseStoreConformance, StableLeaseIsNeverTakenOver) {
  const Lease stable = Claimed(StableSpec("stable", 1));
  EXPECT_FALSE(stable.expires_at.has_value());
  Claimed(Spec("plain", 1));
  Advance(kSafeGuard * 1000);
  EXPECT_EQ(Claimed(Spec("late", 1)).row.machine_id, 1u);
  EXPECT_THAT(Claim(Spec("later", 1)), HasReason(Reason::kMachineIdOverflow));
  EXPECT_THAT(Renew(KeyOf(stable)), IsOk());
}

TEST_P(LeaseStoreConformance, NamespaceThatMayNotBeCreatedIsRefusedAndLeavesNothing) {
  ClaimSpec spec = Spec("a");
  spec.may_create_namespace = false;
  EXPECT_THAT(Claim(spec), HasReason(Reason::kNamespacePolicy));
  EXPECT_THAT(store().GetNamespace(kOrders), HasReason(Reason::kNotFound));
  Claimed(Spec("b"));
  spec.incarnation_id = NewIncarnation();
  EXPECT_THAT(Claim(spec), IsOk());
}

TEST_P(LeaseStoreConformance, PinnedSafeGuardRefusesOthers) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 10;
  update.pinned_safe_guard = kMinute;
  update.allow_missing = true;
  Updated(update);
  EXPECT_THAT(Claim(Spec("a")), HasReason(Reason::kNamespacePolicy));
  ClaimSpec spec = Spec("a");
  spec.safe_guard = kMinute;
  EXPECT_THAT(Claim(spec), IsOk());
}

TEST_P(LeaseStoreConformance, LeaseCapStopsNewGrantsButNotTakeoversNorComebacks) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 2;
  update.lease_cap = 2;
  update.allow_missing = true;
  Updated(update);
  const Lease own = Claimed(Spec("own", 2));
  ClaimSpec dying = Spec("dying", 2);
  dying.safe_guard = kMinute;
  const Lease dead = Claimed(dying);
  const absl::StatusOr<Lease> refused = Claim(Spec("more", 2));
  ASSERT_THAT(refused, HasReason(Reason::kCapExceeded));
  EXPECT_EQ(MetadataOf(refused.status())["cap"], "2");

  ClaimSpec comeback = Spec("own", 2);
  comeback.proof = ProofOf(own, Now());
  EXPECT_EQ(Claimed(comeback).row.machine_id, own.row.machine_id);
  Advance(kMinute);
  const Lease taken = Claimed(Spec("more", 2));
  EXPECT_EQ(taken.row.source, LeaseSource::kExpired);
  EXPECT_EQ(taken.row.machine_id, dead.row.machine_id);
  Released(KeyOf(taken), Now());
  EXPECT_THAT(Claim(Spec("again", 2)), IsOk());
}

// The own id is given up for the new one: the number of leases stays the same.
TEST_P(LeaseStoreConformance, InstanceAtTheLeaseCapCanMove) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 2;
  update.lease_cap = 1;
  update.allow_missing = true;
  Updated(update);
  Claimed(Spec("a", 2));
  EXPECT_EQ(Claimed(Spec("a", 2)).row.machine_id, 1u);
  EXPECT_EQ(Namespace().counts.held, 1u);
  EXPECT_THAT(Claim(Spec("b", 2)), HasReason(Reason::kCapExceeded));
}

}  // namespace
}  // namespace snowlease::testing
