#include "tests/storage/lease_store_conformance.h"

// The same claim again, because its answer was lost (F21).

namespace snowlease::testing {
namespace {

TEST_P(LeaseStoreConformance, RepeatedClaimAnswersTheSameGrantWithItsWindowExtended) {
  ClaimSpec spec = Spec("a");
  const Lease first = Claimed(spec);
  Advance(Millis(3000));
  spec.client_time = spec.client_time + Millis(3000);
  const Lease second = Claimed(spec);
  EXPECT_EQ(KeyOf(second), KeyOf(first));
  EXPECT_EQ(second.row.floor, first.row.floor);
  EXPECT_EQ(second.row.source, first.row.source);
  EXPECT_EQ(*second.row.window_end, *first.row.window_end + Millis(3000));
  EXPECT_GE(*second.expires_at, *first.expires_at + Millis(3000));
  EXPECT_EQ(Rows().size(), 1u);
  EXPECT_EQ(Grants(0).size(), 1u);
  EXPECT_EQ(Claimed(spec).row.token, first.row.token) << "a third time as well";
}

TEST_P(LeaseStoreConformance, RepeatedClaimWithAnEarlierClockDoesNotShortenTheWindow) {
  ClaimSpec spec = Spec("a");
  const Lease first = Claimed(spec);
  spec.client_time = spec.client_time - Millis(5000);
  EXPECT_EQ(Claimed(spec).row.window_end, first.row.window_end);
}

TEST_P(LeaseStoreConformance, RepeatedClaimIsServedAfterExpiryInAFullNamespaceAtItsCap) {
  ClaimSpec spec = Spec("a", 1);
  const Lease first = Claimed(spec);
  Claimed(StableSpec("b", 1));
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.lease_cap = 1;
  Updated(update);
  Advance(2 * kSafeGuard);
  spec.client_time = Now();
  const Lease again = Claimed(spec);
  EXPECT_EQ(KeyOf(again), KeyOf(first));
  EXPECT_EQ(*again.row.window_end, spec.client_time + kWindow);
}

TEST_P(LeaseStoreConformance, RepeatedClaimAfterARenewalIsReused) {
  const ClaimSpec spec = Spec("a");
  const Lease lease = Claimed(spec);
  Renewed(KeyOf(lease));
  const LeaseRow before = Row(0);
  EXPECT_THAT(Claim(spec), HasReason(Reason::kIncarnationReused));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, RepeatedClaimAfterARaiseIsReused) {
  const ClaimSpec spec = Spec("a");
  const Lease lease = Claimed(spec);
  ASSERT_THAT(Raise(KeyOf(lease), Now()), IsOk());
  EXPECT_THAT(Claim(spec), HasReason(Reason::kIncarnationReused));
}

// A late copy may supersede, it never repeats a grant that has ended.
TEST_P(LeaseStoreConformance, LateCopyOfAClaimWhoseGrantWasReleasedIsANewClaim) {
  const ClaimSpec spec = Spec("a");
  const Lease first = Claimed(spec);
  const ClientTime last = Now();
  Released(KeyOf(first), last);
  const Lease second = Claimed(spec);
  EXPECT_EQ(second.row.machine_id, first.row.machine_id);
  EXPECT_EQ(second.row.token, first.row.token + 1);
  EXPECT_EQ(second.row.floor, last);
}

TEST_P(LeaseStoreConformance, LateCopyOfASupersededClaimGetsAWindowOfItsOwn) {
  const ClaimSpec first_claim = Spec("a");
  const Lease first = Claimed(first_claim);
  const Lease second = Claimed(Spec("a"));  // moves to another id
  ASSERT_NE(second.row.machine_id, first.row.machine_id);
  const Lease copy = Claimed(first_claim);
  EXPECT_FALSE(KeyOf(copy) == KeyOf(first));
  if (copy.row.machine_id == first.row.machine_id) {
    EXPECT_GT(copy.row.token, first.row.token);
    EXPECT_GE(copy.row.floor, *first.row.window_end);
  }
  EXPECT_TRUE(copy.superseded_live_lease);
  EXPECT_THAT(Renew(KeyOf(second)), HasLossCause(EndCause::kSuperseded));
}

TEST_P(LeaseStoreConformance, LateCopyOfAClaimTakenOverDoesNotDisturbTheNewHolder) {
  const ClaimSpec spec = Spec("a", 1);
  const Lease first = Claimed(spec);
  Claimed(StableSpec("b", 1));
  Advance(kSafeGuard);
  const Lease taker = Claimed(Spec("taker", 1));
  ASSERT_EQ(taker.row.machine_id, first.row.machine_id);
  EXPECT_THAT(Claim(spec), HasReason(Reason::kMachineIdOverflow));
  EXPECT_THAT(Renew(KeyOf(taker)), IsOk());
}

}  // namespace
}  // namespace snowlease::testing
