#include "tests/storage/lease_store_conformance.h"

// What people and tools look up.

namespace snowlease::testing {
namespace {

using storage::GrantRow;

TEST_P(LeaseStoreConformance, CountsFollowEveryChangeOfState) {
  const auto counts = [&] {
    const storage::LeaseCounts c = Namespace().counts;
    return std::vector<uint64_t>{c.free, c.held, c.kept, c.reserved};
  };
  using ::testing::ElementsAre;
  const Lease a = Claimed(Spec("a", 3));
  const Lease s = Claimed(StableSpec("s", 3));
  EXPECT_THAT(counts(), ElementsAre(0, 2, 0, 0));
  Released(KeyOf(a), Now());
  Released(KeyOf(s), Now());
  EXPECT_THAT(counts(), ElementsAre(1, 0, 1, 0));
  const std::vector<uint32_t> ids = {0, 5};
  ASSERT_THAT(store().ReserveIds(kOrders, ids, kOperator), IsOk());
  EXPECT_THAT(counts(), ElementsAre(0, 0, 1, 2));
  const Lease again = Claimed(StableSpec("s", 3));
  EXPECT_THAT(counts(), ElementsAre(0, 1, 0, 2));
  ASSERT_THAT(store().UnreserveIds(kOrders, ids, ClientTime{0}, kOperator), IsOk());
  EXPECT_THAT(counts(), ElementsAre(2, 1, 0, 0));
  ASSERT_THAT(Force(again.row.machine_id, again.row.token), IsOk());
  EXPECT_THAT(counts(), ElementsAre(3, 0, 0, 0));
  const Lease b = Claimed(Spec("b", 3));
  EXPECT_THAT(counts(), ElementsAre(2, 1, 0, 0));
  Claimed(Spec("b", 3));  // moves: the old id is freed
  EXPECT_THAT(counts(), ElementsAre(2, 1, 0, 0));
  EXPECT_THAT(Renew(KeyOf(b)), HasLossCause(EndCause::kSuperseded));
}

TEST_P(LeaseStoreConformance, NamespaceDetailTellsExpiredFreeAheadAndNextExpiry) {
  ClaimSpec dying = Spec("dying");
  dying.safe_guard = kMinute;
  const Lease dead = Claimed(dying);
  const Lease alive = Claimed(Spec("alive"));
  const Lease ahead = Claimed(Spec("ahead"));
  Released(KeyOf(ahead), Now() + kWindow);
  Claimed(StableSpec("stable"));
  const auto before = store().GetNamespace(kOrders);
  ASSERT_THAT(before, IsOk());
  EXPECT_EQ(before->expired, 0u);
  EXPECT_EQ(before->free_ahead, 1u);
  EXPECT_EQ(before->next_expiry, dead.expires_at);
  Advance(kMinute);
  const auto after = store().GetNamespace(kOrders);
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(after->expired, 1u);
  EXPECT_THAT(Renew(KeyOf(alive)), IsOk());
}

TEST_P(LeaseStoreConformance, NamespacesAreListedByNameInPages) {
  for (const char* name : {"b", "a", "d", "c"}) {
    ClaimSpec spec = Spec("i");
    spec.name_space = name;
    Claimed(spec);
  }
  ASSERT_THAT(store().GetNamespace("missing"), HasReason(Reason::kNotFound));
  std::vector<std::string> names;
  std::string after;
  while (true) {
    const auto page = store().ListNamespaces(after, 3);
    ASSERT_THAT(page, IsOk());
    if (page->empty()) break;
    ASSERT_LE(page->size(), 3u);
    for (const storage::NamespaceRow& row : *page) names.push_back(row.name);
    after = names.back();
  }
  EXPECT_THAT(names, ::testing::ElementsAre("a", "b", "c", "d"));
}

TEST_P(LeaseStoreConformance, LeasesAreListedInOrderFilteredAndInPages) {
  const std::vector<Lease> leases = ClaimedMany("web-", 5, 4);
  Claimed(Spec("worker-1", 4));
  Released(KeyOf(leases[1]), Now());
  storage::LeaseFilter filter;
  filter.state = LeaseState::kHeld;
  filter.instance_prefix = "web-";
  std::vector<uint32_t> ids;
  uint32_t from = 0;
  while (true) {
    const auto page = store().ListLeases(kOrders, filter, from, 2);
    ASSERT_THAT(page, IsOk());
    ASSERT_LE(page->size(), 2u);
    for (const storage::LeaseDetail& detail : *page) ids.push_back(detail.row.machine_id);
    if (page->size() < 2) break;
    from = ids.back() + 1;
  }
  EXPECT_THAT(ids, ::testing::ElementsAre(0, 2, 3, 4));
  storage::LeaseFilter free;
  free.state = LeaseState::kFree;
  const auto freed = store().ListLeases(kOrders, free, 0, 10);
  ASSERT_THAT(freed, IsOk());
  ASSERT_EQ(freed->size(), 1u);
  EXPECT_EQ(freed->front().row.machine_id, 1u);
}

// A prefix is taken literally, whatever it means to a query language.
TEST_P(LeaseStoreConformance, InstancePrefixIsNoPattern) {
  for (const char* instance : {"a%b", "aXb", "a_b", "a\\b", "A%b"}) Claimed(Spec(instance));
  for (const char* prefix : {"a%", "a_", "a\\"}) {
    storage::LeaseFilter filter;
    filter.instance_prefix = prefix;
    const auto found = store().ListLeases(kOrders, filter, 0, 10);
    ASSERT_THAT(found, IsOk());
    ASSERT_EQ(found->size(), 1u) << prefix;
    EXPECT_EQ(found->front().row.instance_id, std::string(prefix) + "b");
  }
}

TEST_P(LeaseStoreConformance, HistoryTellsHowEachGrantEndedNewestFirst) {
  ClaimSpec first_claim = Spec("a");
  first_claim.metadata = {{"host", "h1"}, {"note", "x=1,\xF0\x9F\x98\x80"}};
  const Lease first = Claimed(first_claim);
  const auto held = store().GetLease(kOrders, 0);
  ASSERT_THAT(held, IsOk());
  EXPECT_EQ(held->lease.metadata, first_claim.metadata);
  Released(KeyOf(first), Now());
  const Lease second = Claimed(Spec("b"));
  ASSERT_THAT(Force(0, second.row.token), IsOk());
  Advance(kSafeGuard);
  const Lease third = Claimed(Spec("c"));

  const std::vector<GrantRow> grants = Grants(0);
  ASSERT_EQ(grants.size(), 3u);
  EXPECT_EQ(grants[0].token, third.row.token);
  EXPECT_EQ(grants[0].end_cause, EndCause::kNone);
  EXPECT_FALSE(grants[0].ended_at.has_value());
  EXPECT_EQ(grants[1].instance_id, "b");
  EXPECT_EQ(grants[1].end_cause, EndCause::kRevoked);
  EXPECT_TRUE(grants[1].ended_unclean);
  EXPECT_EQ(grants[1].window_end, second.row.window_end);
  EXPECT_EQ(grants[1].granted_at, second.store_time);
  EXPECT_EQ(grants[2].instance_id, "a");
  EXPECT_EQ(grants[2].end_cause, EndCause::kReleased);
  EXPECT_FALSE(grants[2].ended_unclean);
  EXPECT_EQ(grants[2].metadata, first_claim.metadata);
  EXPECT_EQ(grants[2].incarnation_id, first_claim.incarnation_id);
  EXPECT_EQ(grants[2].source, LeaseSource::kNew);
}

TEST_P(LeaseStoreConformance, OwnerOfATimestampIsWhoseWindowCoversIt) {
  const Lease first = Claimed(Spec("a"));
  const ClientTime last = Now();
  Released(KeyOf(first), last);
  const Lease second = Claimed(Spec("b"));
  ASSERT_EQ(second.row.floor, last);
  const auto owners = [&](ClientTime timestamp) {
    std::string names;
    const auto found = store().FindOwner(kOrders, 0, timestamp);
    EXPECT_THAT(found, IsOk());
    for (const GrantRow& grant : *found) names += grant.instance_id;
    return names;
  };
  EXPECT_EQ(owners(first.row.floor), "") << "the floor itself is not in the window";
  EXPECT_EQ(owners(first.row.floor + Millis(1)), "a");
  EXPECT_EQ(owners(last), "a");
  EXPECT_EQ(owners(last + Millis(1)), "b");
  EXPECT_EQ(owners(*second.row.window_end), "b");
  EXPECT_EQ(owners(*second.row.window_end + Millis(1)), "");
  EXPECT_THAT(store().FindOwner(kOrders, 5, last), HasReason(Reason::kNotFound));
}

TEST_P(LeaseStoreConformance, StoreTellsItsClockAndIdentity) {
  const StoreTime before = harness().StoreNow();
  const absl::StatusOr<StoreTime> ping = store().Ping();
  ASSERT_THAT(ping, IsOk());
  EXPECT_GE(*ping, before - harness().ClockSlack());
  EXPECT_LE(*ping, harness().StoreNow() + harness().ClockSlack());
  EXPECT_FALSE(store().StoreId().empty());
  EXPECT_GE(store().SchemaVersion(), 1);
  const std::string id = store().StoreId();
  ASSERT_THAT(store().Migrate(storage::MigrateMode::kAuto), IsOk()) << "a second time";
  ASSERT_THAT(store().Migrate(storage::MigrateMode::kCheck), IsOk());
  EXPECT_EQ(store().StoreId(), id);
  EXPECT_FALSE(store().GetCapabilities().backend.empty());
  EXPECT_GE(store().GetCapabilities().connections, 1);
}

}  // namespace
}  // namespace snowlease::testing
