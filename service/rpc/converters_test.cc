#include "service/rpc/converters.h"

#include <gmock/gmock.h>

#include "service/rpc/namespace_policy.h"
#include "service/rpc/renew_pacing.h"

namespace snowlease::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using storage::ClientTime;
using storage::Millis;
using storage::StoreTime;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

storage::Lease HeldLease() {
  storage::Lease lease;
  lease.row.name_space = "orders";
  lease.row.machine_id = 0;
  lease.row.state = storage::LeaseState::kHeld;
  lease.row.instance_id = "orders-1";
  lease.row.token = (uint64_t{1} << 53) + 1;
  lease.row.source = storage::LeaseSource::kNew;
  lease.row.safe_guard = Millis(300'000);
  lease.row.window = Millis(290'000);
  lease.row.floor = ClientTime{100};
  lease.row.window_end = ClientTime{290'100};
  lease.row.watermark = ClientTime{100};
  lease.store_time = StoreTime{50};
  lease.expires_at = StoreTime{300'050};
  return lease;
}

TEST(ConvertersTest, ClaimKeepsWhatWasAskedFor) {
  v1::ClaimRequest request;
  request.set_namespace_("orders");
  request.set_instance_id("orders-1");
  request.set_incarnation_id("0123456789abcdef");
  request.set_machine_bits(12);
  request.set_stable(true);
  request.mutable_safe_guard_duration()->set_seconds(10);
  request.mutable_window()->set_nanos(5'000'000);
  request.set_client_time_ms(42);
  request.mutable_max_wait()->set_seconds(3);
  request.set_comeback_mode(v1::COMEBACK_MODE_KEEP);
  request.mutable_proof()->set_incarnation_id("fedcba9876543210");
  request.mutable_proof()->set_reserved_until_ms(41);
  (*request.mutable_metadata())["host"] = "h1";
  const storage::ClaimSpec spec = ToClaimSpec(request);
  EXPECT_EQ(spec.name_space, "orders");
  EXPECT_EQ(spec.instance_id, "orders-1");
  EXPECT_EQ(spec.incarnation_id[15], 'f');
  EXPECT_EQ(spec.machine_bits, 12);
  EXPECT_TRUE(spec.stable);
  EXPECT_EQ(spec.safe_guard, Millis(10'000));
  EXPECT_EQ(spec.window, Millis(5));
  EXPECT_EQ(spec.client_time, ClientTime{42});
  EXPECT_EQ(spec.max_wait, Millis(3000));
  EXPECT_EQ(spec.comeback, storage::ComebackMode::kKeep);
  ASSERT_TRUE(spec.proof.has_value());
  EXPECT_EQ(spec.proof->incarnation_id[0], 'f');
  EXPECT_EQ(spec.proof->reserved_until, ClientTime{41});
  EXPECT_EQ(spec.metadata.at("host"), "h1");
}

TEST(ConvertersTest, AbsentSafeGuardIsFiveMinutesAndZeroIsNever) {
  v1::ClaimRequest request;
  EXPECT_EQ(ToClaimSpec(request).safe_guard, Millis(300'000));
  request.mutable_safe_guard_duration();
  EXPECT_EQ(ToClaimSpec(request).safe_guard, Millis(0));
}

TEST(ConvertersTest, ReleaseTellsUnknownFromNothingIssued) {
  v1::ReleaseRequest request;
  EXPECT_FALSE(ToReleaseSpec(request).last_timestamp.has_value());
  request.set_last_timestamp_ms(0);
  EXPECT_EQ(ToReleaseSpec(request).last_timestamp, ClientTime{0});
}

TEST(ConvertersTest, LeaseShowsZeroValuesAsPresent) {
  storage::Lease lease = HeldLease();
  lease.row.floor = ClientTime{0};
  lease.row.watermark = ClientTime{0};
  const v1::Lease out = ToLease(lease, {"store", std::nullopt});
  EXPECT_TRUE(out.has_machine_id());
  EXPECT_TRUE(out.has_floor_ms());
  EXPECT_TRUE(out.has_watermark_ms());
  EXPECT_EQ(out.token(), (uint64_t{1} << 53) + 1);  // F41
  EXPECT_EQ(out.source(), v1::LEASE_SOURCE_NEW);
  EXPECT_EQ(out.store_id(), "store");
  EXPECT_EQ(out.store_time_ms(), 50);
  EXPECT_EQ(out.expires_at_ms(), 300'050);
  EXPECT_EQ(out.window_end_ms(), 290'100);
  EXPECT_FALSE(out.has_renew_after());
  EXPECT_THAT(out.warnings(), IsEmpty());
}

TEST(ConvertersTest, LeaseWithoutEndSaysSoAndWarns) {
  storage::Lease lease = HeldLease();
  lease.row.safe_guard = Millis(0);
  lease.row.window_end.reset();
  lease.expires_at.reset();
  lease.clock_trusted = true;
  lease.client_clock_ahead = true;
  lease.superseded_live_lease = true;
  const v1::Lease out = ToLease(lease, {"store", std::nullopt});
  EXPECT_FALSE(out.has_window_end_ms());
  EXPECT_FALSE(out.has_expires_at_ms());
  EXPECT_TRUE(out.superseded_live_lease());
  EXPECT_THAT(out.warnings(),
              ElementsAre(v1::LEASE_WARNING_NEVER_EXPIRES, v1::LEASE_WARNING_CLOCK_TRUSTED,
                          v1::LEASE_WARNING_CLIENT_CLOCK_AHEAD));
}

TEST(ConvertersTest, UpdateTellsUnsetFromCleared) {
  v1::UpdateNamespaceRequest request;
  EXPECT_FALSE(ToNamespaceUpdate(request).lease_cap.has_value());
  EXPECT_FALSE(ToNamespaceUpdate(request).pinned_safe_guard.has_value());
  request.set_clear_lease_cap(true);
  request.set_clear_pinned_safe_guard_duration(true);
  ASSERT_TRUE(ToNamespaceUpdate(request).lease_cap.has_value());
  EXPECT_FALSE(ToNamespaceUpdate(request).lease_cap->has_value());
  ASSERT_TRUE(ToNamespaceUpdate(request).pinned_safe_guard.has_value());
  EXPECT_FALSE(ToNamespaceUpdate(request).pinned_safe_guard->has_value());
  request.set_clear_lease_cap(false);
  request.set_lease_cap(5);
  EXPECT_EQ(ToNamespaceUpdate(request).lease_cap->value(), 5u);
}

TEST(ConvertersTest, NamespaceCountsNeverUsedIds) {
  storage::NamespaceRow row;
  row.name = "orders";
  row.machine_bits = 4;
  row.counts = {.free = 1, .held = 2, .kept = 3, .reserved = 4};
  const v1::Namespace out = ToNamespace(row);
  EXPECT_EQ(out.capacity(), 16u);
  EXPECT_EQ(out.never_used(), 6u);
  EXPECT_FALSE(out.has_expired());
}

TEST(ConvertersTest, RecordTellsExpiryAndNextFloor) {
  storage::LeaseDetail detail;
  detail.row = HeldLease().row;
  detail.row.renewed_at = StoreTime{1000};
  detail.store_time = StoreTime{301'000};
  const v1::LeaseRecord expired = ToLeaseRecord(detail);
  EXPECT_EQ(expired.expires_at_ms(), 301'000);
  EXPECT_TRUE(expired.expired());
  EXPECT_EQ(expired.next_floor_ms(), 290'100);
  detail.store_time = StoreTime{300'999};
  EXPECT_FALSE(ToLeaseRecord(detail).expired());
  detail.row.window_end.reset();
  EXPECT_FALSE(ToLeaseRecord(detail).has_next_floor_ms());
}

TEST(RenewPacingTest, IsAFifthOfTheSafeGuardWithTenPercentJitter) {
  const storage::LeaseRow row = HeldLease().row;
  EXPECT_EQ(RenewAfter(row, 0, 0), seconds(60));
  EXPECT_EQ(RenewAfter(row, 0, 1), seconds(66));
  EXPECT_EQ(RenewAfter(row, 0, -1), seconds(54));
}

TEST(RenewPacingTest, GrowsWithLoadButNeverBeyondHalfTheWindow) {
  storage::LeaseRow row = HeldLease().row;
  EXPECT_EQ(RenewAfter(row, 0.5, 0), seconds(90));
  EXPECT_EQ(RenewAfter(row, 1, 0), seconds(120));
  EXPECT_EQ(RenewAfter(row, 100, 1), seconds(132));
  row.window = Millis(100'000);
  EXPECT_EQ(RenewAfter(row, 100, 1), seconds(50));
  row.window = Millis(1);
  EXPECT_EQ(RenewAfter(row, 0, 0), std::chrono::microseconds(500));
}

TEST(RenewPacingTest, LeaseThatNeverExpiresHasNone) {
  storage::LeaseRow row = HeldLease().row;
  row.safe_guard = Millis(0);
  EXPECT_EQ(RenewAfter(row, 0, 0), std::nullopt);
}

TEST(RenewPacingTest, RandomJitterStaysInRangeAndVaries) {
  double lowest = 1;
  double highest = -1;
  for (int i = 0; i < 1000; ++i) {
    const double jitter = RandomJitter();
    lowest = std::min(lowest, jitter);
    highest = std::max(highest, jitter);
  }
  EXPECT_GE(lowest, -1);
  EXPECT_LT(highest, 1);
  EXPECT_GT(highest - lowest, 1);
}

TEST(NamespacePolicyTest, GlobsMatchWholeNames) {
  EXPECT_TRUE(GlobMatches("orders", "orders"));
  EXPECT_FALSE(GlobMatches("orders", "orders2"));
  EXPECT_FALSE(GlobMatches("orders", "Orders"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("team-*", "team-"));
  EXPECT_TRUE(GlobMatches("team-*-prod", "team-a-b-prod"));
  EXPECT_FALSE(GlobMatches("team-*-prod", "team-a-prod2"));
  EXPECT_TRUE(GlobMatches("?b*d", "abccd"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_TRUE(GlobMatches("[a].b", "[a].b"));  // nothing else is special
}

TEST(NamespacePolicyTest, ManyStarsStayFast) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(GlobMatches(pattern + "b", std::string(200, 'a')));
}

TEST(NamespacePolicyTest, EmptyListAllowsAllAndOffAllowsNone) {
  EXPECT_TRUE(NamespaceCreation{}.Allows("any"));
  EXPECT_FALSE((NamespaceCreation{.allowed = false, .patterns = {"*"}}.Allows("any")));
  const NamespaceCreation some{.allowed = true, .patterns = {"a-*", "b"}};
  EXPECT_TRUE(some.Allows("a-1"));
  EXPECT_TRUE(some.Allows("b"));
  EXPECT_FALSE(some.Allows("c"));
}

}  // namespace
}  // namespace snowlease::service
