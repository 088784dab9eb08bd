#include <map>
#include <set>

#include "tests/storage/lease_store_conformance.h"

// A restored store is fenced: nothing that was acknowledged after the backup is granted
// again, whatever the restored rows say.

namespace snowlease::testing {
namespace {

using storage::kFenceTokens;

constexpr Millis kAhead{360'000};  // largest safe guard + max_clock_ahead
const AdminContext kFence{"fence", "restored from last night"};

class Fenced {
 public:
  Fenced(storage::LeaseStore& store, Millis ahead) {
    auto summary = store.Fence(ahead, kFence);
    if (!summary.ok()) throw std::runtime_error(summary.status().ToString());
    summary_ = *summary;
  }
  const storage::FenceSummary* operator->() const { return &summary_; }

 private:
  storage::FenceSummary summary_;
};

TEST_P(LeaseStoreConformance, FenceRefusesADurationThatIsNoneOrTooLong) {
  const Lease lease = Claimed(Spec("a"));
  for (const Millis ahead : {Millis(0), Millis(-1), Millis(int64_t{30} * 24 * 3'600'000 + 1)}) {
    EXPECT_THAT(store().Fence(ahead, kFence), HasReason(Reason::kInvalidArgument));
  }
  EXPECT_THAT(Renew(KeyOf(lease)), IsOk()) << "nothing has happened";
}

TEST_P(LeaseStoreConformance, FenceRaisesFloorsAndTokensInAllStatesAndCountsStayRight) {
  const Lease free = Claimed(Spec("free"));
  Claimed(Spec("held"));
  const Lease kept = Claimed(StableSpec("kept"));
  const Lease stable = Claimed(StableSpec("stable"));
  Released(KeyOf(free), Now());
  Released(KeyOf(kept), Now());
  const std::vector<uint32_t> reserved = {9};
  ASSERT_THAT(store().ReserveIds(kOrders, reserved, kOperator), IsOk());
  std::map<uint32_t, LeaseRow> before;
  for (const LeaseRow& row : Rows()) before[row.machine_id] = row;
  ASSERT_EQ(before.size(), 5u);

  const Fenced fenced(store(), kAhead);
  ExpectAbout(fenced->floor, Now() + kAhead);
  EXPECT_EQ(fenced->namespaces, 1u);
  EXPECT_EQ(fenced->leases, 5u);
  EXPECT_EQ(fenced->ended, 2u);

  const std::map<uint32_t, LeaseState> states = {{0, LeaseState::kFree},
                                                 {1, LeaseState::kFree},
                                                 {2, LeaseState::kKept},
                                                 {3, LeaseState::kKept},
                                                 {9, LeaseState::kReserved}};
  for (const LeaseRow& row : Rows()) {
    SCOPED_TRACE(row.machine_id);
    EXPECT_EQ(row.state, states.at(row.machine_id));
    EXPECT_EQ(row.fence, fenced->floor);
    EXPECT_EQ(row.token, before[row.machine_id].token + kFenceTokens);
    EXPECT_EQ(row.watermark, before[row.machine_id].watermark);
    const bool free_now = row.state == LeaseState::kFree;
    EXPECT_EQ(row.free_floor, free_now ? std::optional(fenced->floor) : std::nullopt);
    const bool kept_now = row.state == LeaseState::kKept;
    EXPECT_EQ(row.instance_id.has_value(), kept_now);
  }
  EXPECT_EQ(Row(3).instance_id, stable.row.instance_id);
  const storage::NamespaceRow space = Namespace();
  EXPECT_EQ(space.base_floor, fenced->floor);
  EXPECT_EQ(space.base_token, kFenceTokens);
  EXPECT_EQ(space.counts.free, 2u);
  EXPECT_EQ(space.counts.held, 0u);
  EXPECT_EQ(space.counts.kept, 2u);
  EXPECT_EQ(space.counts.reserved, 1u);
}

TEST_P(LeaseStoreConformance, FenceEndsGrantsInTheHistoryAndIsAudited) {
  const Lease lease = Claimed(Spec("a"));
  const Fenced fenced(store(), kAhead);
  const auto grants = Grants(lease.row.machine_id);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].token, lease.row.token);
  EXPECT_EQ(grants[0].end_cause, EndCause::kRevoked);
  EXPECT_TRUE(grants[0].ended_unclean);
  EXPECT_TRUE(grants[0].ended_at.has_value());
  EXPECT_EQ(grants[0].window_end, lease.row.window_end);
  const auto audit = store().ListAudit(kOrders, 1);
  ASSERT_THAT(audit, IsOk());
  ASSERT_EQ(audit->size(), 1u);
  EXPECT_EQ(audit->front().actor, "fence");
  EXPECT_EQ(audit->front().action, "Fence");
  EXPECT_EQ(audit->front().reason, kFence.reason);
  EXPECT_EQ(audit->front().detail, "floor_ms=" + std::to_string(fenced->floor.ms) + " leases=1");
}

TEST_P(LeaseStoreConformance, HoldersLoseTheirLeasesByAFence) {
  const Lease plain = Claimed(Spec("plain"));
  const Lease stable = Claimed(StableSpec("stable"));
  const Fenced fenced(store(), kAhead);
  // Grants that were made after the backup, which the restored store never saw.
  GrantKey forgotten = KeyOf(plain);
  forgotten.token += 7;
  GrantKey forgotten_stable = KeyOf(stable);
  forgotten_stable.token += 7;
  EXPECT_THAT(Renew(KeyOf(plain)), HasLossCause(EndCause::kRevoked));
  EXPECT_THAT(Renew(KeyOf(stable)), HasLossCause(EndCause::kRevoked));
  EXPECT_THAT(Raise(KeyOf(plain), Now()), HasLossCause(EndCause::kRevoked));
  EXPECT_THAT(Release(KeyOf(plain), Now()), HasLossCause(EndCause::kRevoked));
  EXPECT_THAT(Renew(forgotten), HasLossCause(EndCause::kUnknown));
  EXPECT_THAT(Renew(forgotten_stable), HasLossCause(EndCause::kUnknown));
}

TEST_P(LeaseStoreConformance, NothingIsGrantedBelowAFence) {
  const Lease plain = Claimed(Spec("plain", 1));
  const Lease stable = Claimed(StableSpec("stable", 1));
  Claimed([&] {
    ClaimSpec spec = Spec("elsewhere");
    spec.name_space = "other";
    return spec;
  }());
  const Fenced fenced(store(), kAhead);
  EXPECT_THAT(Claim(Spec("new", 1)), HasReason(Reason::kClockBehind));
  EXPECT_THAT(Claim(StableSpec("stable", 1)), HasReason(Reason::kWindowOpen));
  ClaimSpec proven = Spec("plain", 1);
  proven.proof = ProofOf(plain, Now());
  EXPECT_THAT(Claim(proven), HasReason(Reason::kClockBehind)) << "a proof knows no more";
  // Names that the backup does not have may have been used after it.
  for (const char* name : {"other", "made after the backup"}) {
    ClaimSpec spec = Spec("new");
    spec.name_space = name;
    EXPECT_THAT(Claim(spec), HasReason(Reason::kClockBehind)) << name;
  }

  Advance(kAhead);
  const Lease again = Claimed(StableSpec("stable", 1));
  EXPECT_EQ(again.row.machine_id, stable.row.machine_id);
  EXPECT_EQ(again.row.floor, fenced->floor);
  EXPECT_EQ(again.row.token, stable.row.token + kFenceTokens + 1);
  const Lease next = Claimed(Spec("new", 1));
  EXPECT_EQ(next.row.machine_id, plain.row.machine_id);
  EXPECT_EQ(next.row.source, LeaseSource::kReleased);
  EXPECT_EQ(next.row.floor, fenced->floor);
  EXPECT_EQ(next.row.token, plain.row.token + kFenceTokens + 1);
  EXPECT_EQ(Grants(next.row.machine_id).size(), 2u) << "the history goes on";
  EXPECT_THAT(Renew(KeyOf(plain)), HasLossCause(EndCause::kRevoked));
  for (const char* name : {"other", "made after the backup"}) {
    ClaimSpec spec = Spec("new");
    spec.name_space = name;
    const Lease lease = Claimed(spec);
    EXPECT_EQ(lease.row.floor, fenced->floor) << name;
    EXPECT_EQ(lease.row.token, kFenceTokens + (lease.row.source == LeaseSource::kNew ? 1 : 2));
  }
}

TEST_P(LeaseStoreConformance, NeverUsedNumbersAndNamespacesOfOperatorsStartAboveAFence) {
  Claimed(Spec("a", 2));
  const Fenced fenced(store(), kAhead);
  storage::NamespaceUpdate update;
  update.name = "made by hand";
  update.machine_bits = 2;
  update.allow_missing = true;
  Updated(update);
  EXPECT_EQ(Namespace("made by hand").base_floor, fenced->floor);
  Advance(kAhead);
  Claimed(Spec("b", 2));
  const Lease fresh = Claimed(Spec("c", 2));
  EXPECT_EQ(fresh.row.source, LeaseSource::kNew);
  EXPECT_EQ(fresh.row.floor, fenced->floor);
  EXPECT_EQ(fresh.row.token, kFenceTokens + 1);
}

TEST_P(LeaseStoreConformance, TombstonesAreFencedToo) {
  const Lease expired = Claimed(Spec("expired"));
  Advance(kSafeGuard);
  ASSERT_THAT(store().DeleteNamespace(kOrders, kOperator), IsOk());
  const Fenced fenced(store(), kAhead);
  EXPECT_EQ(fenced->namespaces, 1u);
  EXPECT_EQ(fenced->leases, 0u);
  const auto listed = store().ListNamespaces("", 10);
  ASSERT_THAT(listed, IsOk());
  EXPECT_TRUE(listed->empty());
  EXPECT_THAT(Claim(Spec("a")), HasReason(Reason::kClockBehind));
  Advance(kAhead);
  const Lease lease = Claimed(Spec("a"));
  EXPECT_EQ(lease.row.floor, fenced->floor);
  EXPECT_EQ(lease.row.token, expired.row.token + kFenceTokens + 1);
}

// W2
TEST_P(LeaseStoreConformance, FloorsAreNotLoweredByAFence) {
  ClaimSpec endless = Spec("endless");
  endless.safe_guard = Millis(0);
  Claimed(endless);
  const Lease plain = Claimed(Spec("plain"));
  const Fenced shorter(store(), Millis(1000));
  EXPECT_EQ(Row(plain.row.machine_id).free_floor, plain.row.window_end);
  const ClientTime rest = Now() + Millis(24 * 3'600'000);
  ExpectAbout(*Row(0).free_floor, rest);  // the quarantine of a lease without end

  const Fenced longer(store(), kAhead);
  EXPECT_EQ(Row(plain.row.machine_id).free_floor, longer->floor);
  ExpectAbout(*Row(0).free_floor, rest);
  const Fenced again(store(), Millis(1000));
  EXPECT_EQ(again->ended, 0u);
  EXPECT_EQ(Row(plain.row.machine_id).free_floor, longer->floor);
  EXPECT_EQ(Namespace().base_floor, longer->floor);
  EXPECT_EQ(Row(plain.row.machine_id).token, plain.row.token + 3 * kFenceTokens);
  EXPECT_EQ(Namespace().base_token, 3 * kFenceTokens);
}

TEST_P(LeaseStoreConformance, FenceGoesThroughMoreLeasesThanOnePage) {
  constexpr int kMany = 2500;
  ClaimedMany("m", kMany, 12);
  const Fenced fenced(store(), kAhead);
  EXPECT_EQ(fenced->leases, uint64_t{kMany});
  EXPECT_EQ(fenced->ended, uint64_t{kMany});
  EXPECT_EQ(Namespace().counts.free, uint64_t{kMany});
  EXPECT_EQ(Namespace().counts.held, 0u);
  for (const uint32_t machine_id : {0u, 999u, 1000u, 2499u}) {
    EXPECT_EQ(Row(machine_id).state, LeaseState::kFree);
    EXPECT_EQ(Row(machine_id).free_floor, fenced->floor);
    EXPECT_EQ(Grants(machine_id).at(0).end_cause, EndCause::kRevoked);
  }
  Advance(kAhead);
  std::set<uint32_t> ids;
  for (const Lease& lease : ClaimedMany("n", kMany, 12)) {
    EXPECT_GE(lease.row.floor, fenced->floor);
    ids.insert(lease.row.machine_id);
  }
  EXPECT_EQ(ids.size(), size_t{kMany});
}

TEST_P(LeaseStoreConformance, HistoryStaysBoundedAcrossAFence) {
  for (int i = 0; i < 20; ++i) Released(KeyOf(Claimed(Spec("early", 1))), Now());
  const Fenced fenced(store(), kAhead);
  Advance(kAhead);
  for (int i = 0; i < 40; ++i) Released(KeyOf(Claimed(Spec("late", 1))), Now());
  const auto grants = Grants(0);
  EXPECT_LE(grants.size(), 32u);
  EXPECT_GE(grants.size(), 16u);
  EXPECT_EQ(grants.front().token, 20 + kFenceTokens + 40);
}

}  // namespace
}  // namespace snowlease::testing
