#include "tests/storage/lease_store_conformance.h"

namespace snowlease::testing {
namespace {

TEST_P(LeaseStoreConformance, WatermarkIsRaisedByTokenAndRead) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime to = Now() + Millis(50);
  const auto raised = Raise(KeyOf(lease), to);
  ASSERT_THAT(raised, IsOk());
  EXPECT_EQ(raised->watermark, to);
  const auto read = store().GetWatermark(kOrders, 0);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->watermark, to);
  EXPECT_TRUE(Row(0).used);
}

// W2, F15
TEST_P(LeaseStoreConformance, SmallerRaiseAnswersTheWatermarkThatStands) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime high = Now() + Millis(5000);
  ASSERT_THAT(Raise(KeyOf(lease), high), IsOk());
  for (const ClientTime to : {high - Millis(1), ClientTime{0}}) {
    const auto raised = Raise(KeyOf(lease), to);
    ASSERT_THAT(raised, IsOk());
    EXPECT_EQ(raised->watermark, high);
  }
}

// F12
TEST_P(LeaseStoreConformance, RaiseBeyondTheWindowIsClampedToIt) {
  const Lease lease = Claimed(Spec("a"));
  const auto raised = Raise(KeyOf(lease), *lease.row.window_end + Millis(1));
  ASSERT_THAT(raised, IsOk());
  EXPECT_EQ(raised->watermark, *lease.row.window_end);
}

TEST_P(LeaseStoreConformance, RaiseDoesNotProlongTheLease) {
  const Lease lease = Claimed(Spec("a"));
  Advance(kMinute);
  ASSERT_THAT(Raise(KeyOf(lease), Now()), IsOk());
  const LeaseRow row = Row(0);
  EXPECT_EQ(row.renewed_at, lease.row.renewed_at);
  EXPECT_EQ(row.window_end, lease.row.window_end);
}

TEST_P(LeaseStoreConformance, RaiseByAnotherGrantIsLostAndChangesNothing) {
  const Lease lease = Claimed(Spec("a"));
  const std::string before = Describe(Rows());
  GrantKey wrong = KeyOf(lease);
  wrong.token = 9;
  EXPECT_THAT(Raise(wrong, Now()), HasLossCause(EndCause::kSuperseded));
  wrong = KeyOf(lease);
  wrong.instance_id = "nobody";
  EXPECT_THAT(Raise(wrong, Now()), HasReason(Reason::kMachineIdLost));
  wrong.machine_id = 5;
  EXPECT_THAT(Raise(wrong, Now()), HasLossCause(EndCause::kUnknown));
  EXPECT_EQ(Describe(Rows()), before);
}

TEST_P(LeaseStoreConformance, RaiseAfterReleaseIsLost) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime last = Now();
  Released(KeyOf(lease), last);
  EXPECT_THAT(Raise(KeyOf(lease), last + Millis(1000)), HasLossCause(EndCause::kReleased));
  EXPECT_EQ(Row(0).free_floor, last);
}

TEST_P(LeaseStoreConformance, WatermarkOfAnIdNeverGrantedIsNotFound) {
  EXPECT_THAT(store().GetWatermark(kOrders, 0), HasReason(Reason::kNotFound));
  Claimed(Spec("a"));
  EXPECT_THAT(store().GetWatermark(kOrders, 1), HasReason(Reason::kNotFound));
  EXPECT_THAT(store().GetWatermark(kOrders, 0), IsOk());
}

// W2: monotone over every kind of step.
TEST_P(LeaseStoreConformance, WatermarkGrowsOverClaimRenewRaiseAndRelease) {
  ClientTime watermark{0};
  const auto expect_grown = [&](const char* step) {
    const ClientTime now = Row(0).watermark;
    EXPECT_GE(now, watermark) << step;
    watermark = now;
  };
  for (int round = 0; round < 3; ++round) {
    const Lease lease = Claimed(Spec("a"));
    ASSERT_EQ(lease.row.machine_id, 0u);
    EXPECT_GE(lease.row.watermark, lease.row.floor);
    expect_grown("claim");
    Renewed(KeyOf(lease), Now());
    expect_grown("renew");
    Renewed(KeyOf(lease), ClientTime{1});
    expect_grown("renew with less");
    ASSERT_THAT(Raise(KeyOf(lease), Now() + Millis(10)), IsOk());
    expect_grown("raise");
    Released(KeyOf(lease), ClientTime{0});
    expect_grown("release");
    Advance(Millis(1000));
  }
}

}  // namespace
}  // namespace snowlease::testing
