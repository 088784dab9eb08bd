#include "storage/sql/buffered_lease_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "storage/errors.h"
#include "storage/lease_operations.h"
#include "storage/lease_rules.h"
#include "storage/sql/memory_bulk_statements.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;

constexpr int64_t kStart = 1'750'000'000'000;

class BufferedRows : public ::testing::Test {
 protected:
  ClaimSpec Spec(const std::string& instance, int bits = 10, const std::string& name = "orders") {
    ClaimSpec spec;
    spec.name_space = name;
    spec.instance_id = instance;
    spec.incarnation_id[0] = ++incarnations_;
    spec.incarnation_id[1] = static_cast<uint8_t>(incarnations_ >> 8);
    spec.machine_bits = bits;
    spec.client_time = {now_};
    spec.max_wait = Millis(500);
    return spec;
  }
  RuleContext Context() const { return {{now_}, {now_}, {}}; }

  // One batch, one transaction.
  std::vector<absl::StatusOr<Lease>> Claim(const std::vector<ClaimSpec>& specs) {
    BufferedLeaseRows rows(&statements_);
    rows.PrepareClaims(specs);
    std::vector<absl::StatusOr<Lease>> leases;
    leases.reserve(specs.size());
    for (const ClaimSpec& spec : specs) leases.push_back(ClaimLease(rows, spec, Context()));
    rows.Flush();
    return leases;
  }
  std::vector<absl::Status> Release(const std::vector<Lease>& leases) {
    std::vector<GrantKey> grants;
    grants.reserve(leases.size());
    for (const Lease& lease : leases) grants.push_back(KeyOf(lease));
    BufferedLeaseRows rows(&statements_);
    rows.PrepareGrants(grants);
    std::vector<absl::Status> answers;
    answers.reserve(leases.size());
    for (const GrantKey& grant : grants) {
      answers.push_back(ReleaseLease(rows, {grant, ClientTime{now_}, false}, Context()));
    }
    rows.Flush();
    return answers;
  }
  static GrantKey KeyOf(const Lease& lease) {
    return {lease.row.name_space, lease.row.machine_id, *lease.row.instance_id, lease.row.token};
  }
  std::vector<Lease> ClaimedMany(int count, int bits = 10, const std::string& prefix = "i") {
    std::vector<ClaimSpec> specs;
    specs.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) specs.push_back(Spec(prefix + std::to_string(i), bits));
    std::vector<Lease> leases;
    for (auto& lease : Claim(specs)) leases.push_back(lease.value());
    return leases;
  }

  MemoryBulkStatements statements_;
  int64_t now_ = kStart;
  uint16_t incarnations_ = 0;
};

TEST_F(BufferedRows, BatchOfClaimsCostsAsManyStatementsAsOne) {
  ClaimedMany(1);
  statements_.statements = 0;
  ClaimedMany(1, 10, "single");
  const int single = statements_.statements;
  statements_.statements = 0;
  ClaimedMany(200, 10, "many");
  EXPECT_LE(statements_.statements, single);
}

TEST_F(BufferedRows, ReleasedIdIsGrantedAgainWithinABatchOfClaims) {
  const auto leases = ClaimedMany(3);
  for (const absl::Status& status : Release({leases[1], leases[0]})) EXPECT_THAT(status, IsOk());
  now_ += 10;
  const auto again = Claim({Spec("x"), Spec("y"), Spec("z")});
  EXPECT_EQ(again[0]->row.machine_id, 0u);
  EXPECT_EQ(again[1]->row.machine_id, 1u);
  EXPECT_EQ(again[2]->row.machine_id, 3u);
  EXPECT_EQ(statements_.namespaces["orders"].counts.held, 4u);
}

// More free rows than are read ahead, in several pages, the lowest floor first.
TEST_F(BufferedRows, FreeRowsAreTakenInOrderAcrossPages) {
  auto leases = ClaimedMany(500);
  std::shuffle(leases.begin(), leases.end(), std::mt19937(7));
  for (const Lease& lease : leases) {
    ++now_;
    EXPECT_THAT(Release({lease}).front(), IsOk());
  }
  now_ += 1000;
  // Claims with fewer bits look at the same rows with another limit.
  std::vector<ClaimSpec> specs;
  specs.reserve(400);
  for (int i = 0; i < 400; ++i) specs.push_back(Spec("n" + std::to_string(i), i % 3 == 0 ? 7 : 10));
  const auto again = Claim(specs);
  std::set<uint32_t> taken;
  size_t next = 0;
  for (size_t i = 0; i < again.size(); ++i) {
    const uint32_t limit = i % 3 == 0 ? 128 : 1024;
    if (!again[i].ok()) {
      EXPECT_EQ(limit, 128u);
      continue;
    }
    EXPECT_EQ(again[i]->row.source, LeaseSource::kReleased);
    const uint32_t id = again[i]->row.machine_id;
    EXPECT_TRUE(taken.insert(id).second);
    const auto first = std::find_if(leases.begin(), leases.end(), [&](const Lease& lease) {
      return lease.row.machine_id < limit &&
             (lease.row.machine_id == id || !taken.contains(lease.row.machine_id));
    });
    EXPECT_EQ(first->row.machine_id, id);
    ++next;
  }
  EXPECT_GT(next, 300u);
}

// The instance moves to another id and its own is taken by the next of the batch.
TEST_F(BufferedRows, IdThatAClaimGivesUpIsFreeForTheNextOfTheBatch) {
  ClaimedMany(3, 2);
  now_ += 10;
  ClaimSpec patient = Spec("x", 2);
  patient.max_wait = Millis(400'000);
  const auto moved = Claim({Spec("i0", 2), patient});
  ASSERT_THAT(moved[0], IsOk());
  ASSERT_THAT(moved[1], IsOk());
  EXPECT_EQ(moved[0]->row.machine_id, 3u);
  EXPECT_EQ(moved[1]->row.machine_id, 0u);
  std::set<std::string> instances;
  for (const auto& [key, row] : statements_.leases) {
    if (!row.instance_id) continue;
    EXPECT_TRUE(instances.insert(*row.instance_id).second);
  }
}

TEST_F(BufferedRows, OneInstanceTwiceInABatchHoldsOneId) {
  const auto leases = Claim({Spec("twin"), Spec("twin"), Spec("twin")});
  for (const auto& lease : leases) EXPECT_THAT(lease, IsOk());
  int held = 0;
  for (const auto& [key, row] : statements_.leases) held += row.state == LeaseState::kHeld;
  EXPECT_EQ(held, 1);
  EXPECT_EQ(statements_.namespaces["orders"].counts.held, 1u);
}

TEST_F(BufferedRows, RefusedClaimLeavesNoNamespaceBehind) {
  ClaimSpec spec = Spec("a");
  spec.client_time = {now_ + 3'600'000};
  EXPECT_THAT(Claim({spec}).front(), HasReason(Reason::kClockSkew));
  EXPECT_TRUE(statements_.namespaces.empty());
  ClaimSpec other = Spec("a", 10, "other");
  other.may_create_namespace = false;
  EXPECT_THAT(Claim({other}).front(), HasReason(Reason::kNamespacePolicy));
  EXPECT_TRUE(statements_.namespaces.empty());
}

TEST_F(BufferedRows, ExpiredLeaseThatIsBeingRenewedIsPassedOverForAnother) {
  ClaimedMany(2, 1);
  now_ += 300'000;
  statements_.held_by_others.insert({"orders", 0});
  const auto taken = Claim({Spec("x", 1)});
  ASSERT_THAT(taken.front(), IsOk());
  EXPECT_EQ(taken.front()->row.machine_id, 1u);
  // Nobody else is left: the look that waits finds it, and the lock is gone by then.
  const auto last = Claim({Spec("y", 1)});
  ASSERT_THAT(last.front(), IsOk());
  EXPECT_EQ(last.front()->row.machine_id, 0u);
}

TEST_F(BufferedRows, HistoryOfABatchIsCompleteWithinIt) {
  const auto leases = Claim({Spec("a", 1), Spec("a", 1)});
  ASSERT_THAT(leases[1], IsOk());
  BufferedLeaseRows rows(&statements_);
  rows.ReadOnly();
  size_t ended = 0;
  for (const auto& [key, grant] : statements_.grants) ended += grant.ended_at.has_value();
  EXPECT_EQ(ended, 1u);
  EXPECT_EQ(LossCause(rows, rows.Get("orders", 0), KeyOf(*leases[0])), EndCause::kSuperseded);
}

TEST_F(BufferedRows, NamespacesOfABatchStayApart) {
  const auto leases = Claim({Spec("a", 1, "a"), Spec("a", 1, "A"), Spec("a", 1, "a.b")});
  for (const auto& lease : leases) {
    ASSERT_THAT(lease, IsOk());
    EXPECT_EQ(lease->row.machine_id, 0u);
  }
  EXPECT_EQ(statements_.namespaces.size(), 3u);
}

}  // namespace
}  // namespace snowlease::storage
