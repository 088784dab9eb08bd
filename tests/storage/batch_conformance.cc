#include <set>

#include "tests/storage/lease_store_conformance.h"

// Many elements in one call.

namespace snowlease::testing {
namespace {

TEST_P(LeaseStoreConformance, EmptyBatchesAnswerNothing) {
  EXPECT_TRUE(store().Claim({}, {}).empty());
  EXPECT_TRUE(store().Renew({}, {}).empty());
  EXPECT_TRUE(store().Release({}, {}).empty());
  EXPECT_TRUE(store().RaiseWatermark({}, {}).empty());
}

TEST_P(LeaseStoreConformance, BatchOf4096ClaimsRenewsRaisesAndReleases) {
  constexpr size_t kSize = 4096;
  const std::vector<Lease> leases = ClaimedMany("i", kSize, 13);
  std::set<uint32_t> ids;
  std::vector<RenewSpec> renewals;
  std::vector<storage::RaiseSpec> raises;
  std::vector<ReleaseSpec> releases;
  const ClientTime now = Now();
  for (const Lease& lease : leases) {
    ids.insert(lease.row.machine_id);
    renewals.push_back({KeyOf(lease), now, now});
    raises.push_back({KeyOf(lease), now + Millis(1)});
    releases.push_back({KeyOf(lease), now + Millis(2), false});
  }
  EXPECT_EQ(ids.size(), kSize);
  const auto renewed = store().Renew(renewals, {});
  ASSERT_EQ(renewed.size(), kSize);
  for (size_t i = 0; i < kSize; ++i) {
    ASSERT_THAT(renewed[i], IsOk());
    ASSERT_EQ(KeyOf(*renewed[i]), KeyOf(leases[i])) << "answers are in the order of requests";
  }
  const auto raised = store().RaiseWatermark(raises, {});
  ASSERT_EQ(raised.size(), kSize);
  for (const auto& result : raised) ASSERT_THAT(result, IsOk());
  const auto released = store().Release(releases, {});
  ASSERT_EQ(released.size(), kSize);
  for (const absl::Status& status : released) ASSERT_THAT(status, IsOk());
  EXPECT_EQ(Namespace().counts.free, kSize);
  EXPECT_EQ(Row(4095).free_floor, now + Millis(2));
}

TEST_P(LeaseStoreConformance, LostElementDoesNotUndoItsNeighbours) {
  const std::vector<Lease> leases = ClaimedMany("i", 3, 4);
  Released(KeyOf(leases[1]), Now());
  Advance(Millis(1000));
  std::vector<RenewSpec> renewals;
  for (const Lease& lease : leases) renewals.push_back({KeyOf(lease), Now(), Now()});
  const auto renewed = store().Renew(renewals, {});
  ASSERT_EQ(renewed.size(), 3u);
  EXPECT_THAT(renewed[0], IsOk());
  EXPECT_THAT(renewed[1], HasLossCause(EndCause::kReleased));
  EXPECT_THAT(renewed[2], IsOk());
  EXPECT_EQ(Describe(Row(2)), Describe(renewed[2]->row));
}

TEST_P(LeaseStoreConformance, RefusedClaimDoesNotUndoItsNeighbours) {
  std::vector<ClaimSpec> specs = {Spec("a", 1), Spec("b", 1), Spec("c", 1), Spec("d", 1)};
  specs[1].client_time = Now() + Millis(3'600'000);
  const auto results = store().Claim(specs, {});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_THAT(results[0], IsOk());
  EXPECT_THAT(results[1], HasReason(Reason::kClockSkew));
  EXPECT_THAT(results[2], IsOk());
  EXPECT_THAT(results[3], HasReason(Reason::kMachineIdOverflow));
  EXPECT_EQ(Rows().size(), 2u);
  EXPECT_EQ(Namespace().counts.held, 2u);
}

// M12: no answered window end is beyond what is stored.
TEST_P(LeaseStoreConformance, SeveralRenewalsOfOneLeaseInABatchAnswerWhatIsStored) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime now = Now();
  const std::vector<RenewSpec> renewals = {{KeyOf(lease), now, now + Millis(5000)},
                                           {KeyOf(lease), now + Millis(3), now + Millis(1000)},
                                           {KeyOf(lease), now + Millis(1), now + Millis(9000)},
                                           {KeyOf(lease), ClientTime{0}, now}};
  const auto results = store().Renew(renewals, {});
  const LeaseRow stored = Row(0);
  EXPECT_EQ(*stored.window_end, now + Millis(9000) + kWindow);
  EXPECT_EQ(stored.watermark, now + Millis(3));
  ASSERT_EQ(results.size(), renewals.size());
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_THAT(results[i], IsOk());
    EXPECT_LE(*results[i]->row.window_end, *stored.window_end);
    EXPECT_GE(*results[i]->row.window_end, renewals[i].client_time + kWindow)
        << "each at least what its own clock asked for";
  }
}

TEST_P(LeaseStoreConformance, SameClaimTwiceInABatchIsOneGrant) {
  const ClaimSpec spec = Spec("a");
  const std::vector<ClaimSpec> specs = {spec, spec, spec};
  const auto results = store().Claim(specs, {});
  ASSERT_EQ(results.size(), 3u);
  for (const auto& result : results) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(KeyOf(*result), KeyOf(*results[0]));
  }
  EXPECT_EQ(Rows().size(), 1u);
}

TEST_P(LeaseStoreConformance, SameReleaseTwiceInABatchSucceedsTwice) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime last = Now();
  const std::vector<ReleaseSpec> releases(2, {KeyOf(lease), last, false});
  for (const absl::Status& status : store().Release(releases, {})) EXPECT_THAT(status, IsOk());
  EXPECT_EQ(Row(0).free_floor, last);
  EXPECT_EQ(Namespace().counts.free, 1u);
  EXPECT_EQ(Namespace().counts.held, 0u);
}

TEST_P(LeaseStoreConformance, TwinsInOneBatchLeaveOneHolder) {
  const std::vector<ClaimSpec> specs = {Spec("twin"), Spec("twin")};
  const auto results = store().Claim(specs, {});
  ASSERT_THAT(results[0], IsOk());
  ASSERT_THAT(results[1], IsOk());
  EXPECT_THAT(Renew(KeyOf(*results[0])), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Renew(KeyOf(*results[1])), IsOk());
  EXPECT_EQ(Namespace().counts.held, 1u) << "H1";
}

TEST_P(LeaseStoreConformance, BatchOverManyNamespacesKeepsThemApart) {
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 100; ++i) {
    specs.push_back(Spec("i" + std::to_string(i), 1));
    specs.back().name_space = "n" + std::to_string(i % 50);
  }
  const auto results = store().Claim(specs, {});
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(results[i], IsOk());
    EXPECT_EQ(results[i]->row.machine_id, i < 50 ? 0u : 1u);
    EXPECT_EQ(results[i]->row.name_space, specs[i].name_space);
  }
}

// A lost claim answer in a batch: the whole batch is repeated (F21).
TEST_P(LeaseStoreConformance, RepeatedBatchOfClaimsAnswersTheSameGrants) {
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 100; ++i) specs.push_back(Spec("i" + std::to_string(i), 7));
  const auto first = store().Claim(specs, {});
  const auto second = store().Claim(specs, {});
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(first[i], IsOk());
    ASSERT_THAT(second[i], IsOk());
    EXPECT_EQ(KeyOf(*second[i]), KeyOf(*first[i]));
  }
  EXPECT_EQ(Rows().size(), 100u);
}

}  // namespace
}  // namespace snowlease::testing
