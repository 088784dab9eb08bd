#include "storage/sqlite/sqlite_lease_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sqlite/sqlite_test_support.h"

namespace snowlease::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SqliteRows : public ::testing::Test {
 protected:
  SqliteRows() {
    folder_.Ready().reset();
    connection_.emplace(folder_.path(), Connection::Access::kReadWrite);
    rows_.emplace(&*connection_);
  }

  LeaseRow Held(const std::string& name_space, uint32_t id, const std::string& instance) {
    LeaseRow row;
    row.name_space = name_space;
    row.machine_id = id;
    row.state = LeaseState::kHeld;
    row.instance_id = instance;
    return row;
  }

  std::vector<uint32_t> IdsWithPrefix(const std::string& prefix) {
    LeaseFilter filter;
    filter.instance_prefix = prefix;
    std::vector<uint32_t> ids;
    for (const LeaseRow& row : rows_->Scan("n", filter, 0, 100)) ids.push_back(row.machine_id);
    return ids;
  }

  SqliteFolder folder_;
  std::optional<Connection> connection_;
  std::optional<SqliteLeaseRows> rows_;
};

TEST_F(SqliteRows, EveryColumnComesBack) {
  LeaseRow row = Held("n", (1u << 30) - 1, "i");
  row.incarnation_id.fill(0xFE);
  row.token = (uint64_t{1} << 53) + 1;
  row.source = LeaseSource::kExpired;
  row.stable = true;
  row.safe_guard = Millis(1);
  row.window = Millis(2);
  row.floor = {3};
  row.used = true;
  row.window_end = ClientTime{4};
  row.watermark = {5};
  row.fence = {6};
  row.claimed_at = {7};
  row.renewed_at = {-8};
  row.free_floor = ClientTime{9};
  row.ended_token = 10;
  row.end_cause = EndCause::kRevoked;
  rows_->Put(row);
  const LeaseRow read = rows_->Get("n", row.machine_id).value();
  EXPECT_EQ(read.name_space, "n");
  EXPECT_EQ(read.machine_id, row.machine_id);
  EXPECT_EQ(read.state, row.state);
  EXPECT_EQ(read.instance_id, row.instance_id);
  EXPECT_EQ(read.incarnation_id, row.incarnation_id);
  EXPECT_EQ(read.token, row.token);
  EXPECT_EQ(read.source, row.source);
  EXPECT_EQ(read.stable, row.stable);
  EXPECT_EQ(read.safe_guard, row.safe_guard);
  EXPECT_EQ(read.window, row.window);
  EXPECT_EQ(read.floor, row.floor);
  EXPECT_EQ(read.used, row.used);
  EXPECT_EQ(read.window_end, row.window_end);
  EXPECT_EQ(read.watermark, row.watermark);
  EXPECT_EQ(read.fence, row.fence);
  EXPECT_EQ(read.claimed_at, row.claimed_at);
  EXPECT_EQ(read.renewed_at, row.renewed_at);
  EXPECT_EQ(read.free_floor, row.free_floor);
  EXPECT_EQ(read.ended_token, row.ended_token);
  EXPECT_EQ(read.end_cause, row.end_cause);
}

TEST_F(SqliteRows, NamespaceRowsAreReadBeforeTheyAreWritten) {
  NamespaceRow row;
  row.name = "n";
  row.machine_bits = 20;
  row.next_machine_id = 1u << 20;
  row.policy = {Millis(1), true, 2};
  row.base_floor = {3};
  row.base_token = 4;
  row.created_at = {5};
  row.deleted = true;
  row.counts = {6, 7, 8, 9};
  rows_->Begin();
  rows_->PutNamespace(row);
  EXPECT_EQ(rows_->GetNamespace("n")->counts.kept, 8u);
  rows_->Flush();
  rows_->Begin();
  const NamespaceRow read = rows_->GetNamespace("n").value();
  EXPECT_EQ(read.machine_bits, 20);
  EXPECT_EQ(read.next_machine_id, 1u << 20);
  EXPECT_EQ(read.policy.pinned_safe_guard, Millis(1));
  EXPECT_TRUE(read.policy.allow_trust_clock);
  EXPECT_EQ(read.policy.lease_cap, 2u);
  EXPECT_EQ(read.base_floor.ms, 3);
  EXPECT_EQ(read.base_token, 4u);
  EXPECT_EQ(read.created_at.ms, 5);
  EXPECT_TRUE(read.deleted);
  EXPECT_EQ(read.counts.free, 6u);
  EXPECT_EQ(read.counts.held, 7u);
  EXPECT_EQ(read.counts.reserved, 9u);
}

TEST_F(SqliteRows, UnwrittenNamespaceRowsAreForgottenWithTheirTransaction) {
  NamespaceRow row;
  row.name = "n";
  rows_->Begin();
  rows_->PutNamespace(row);
  rows_->Begin();
  EXPECT_EQ(rows_->GetNamespace("n"), std::nullopt);
}

TEST_F(SqliteRows, InstancePrefixIsComparedByteByByte) {
  rows_->Put(Held("n", 0, "a%x"));
  rows_->Put(Held("n", 1, "abx"));
  rows_->Put(Held("n", 2, "Abx"));
  rows_->Put(Held("n", 3, "a_x"));
  rows_->Put(Held("n", 4, "' OR 1=1 --"));
  rows_->Put(Held("n", 5, "\xF0\x9F\x90\x9D-1"));
  rows_->Put(Held("n", 6, "\xF0\x9F\x90\x9E-1"));
  rows_->Put(Held("n", 7, "a*x"));
  EXPECT_THAT(IdsWithPrefix("a"), ElementsAre(0, 1, 3, 7));
  EXPECT_THAT(IdsWithPrefix("a%"), ElementsAre(0));
  EXPECT_THAT(IdsWithPrefix("a_"), ElementsAre(3));
  EXPECT_THAT(IdsWithPrefix("a*"), ElementsAre(7));
  EXPECT_THAT(IdsWithPrefix("A"), ElementsAre(2));
  EXPECT_THAT(IdsWithPrefix("' OR 1=1"), ElementsAre(4));
  EXPECT_THAT(IdsWithPrefix("\xF0\x9F\x90\x9D"), ElementsAre(5));
  EXPECT_THAT(IdsWithPrefix("\xF0\x9F\x90"), ElementsAre(5, 6));
  EXPECT_THAT(IdsWithPrefix("a%xx"), ElementsAre());
  EXPECT_EQ(IdsWithPrefix("").size(), 8u);
}

TEST_F(SqliteRows, InstanceHasOneRow) {
  rows_->Put(Held("n", 0, "i"));
  rows_->Put(Held("n", 0, "i"));
  rows_->Put(Held("m", 0, "i"));
  rows_->Put(Held("n", 1, "I"));
  EXPECT_THROW(rows_->Put(Held("n", 2, "i")), StoreFailure);
}

TEST_F(SqliteRows, HistoryKeepsTheNewestGrants) {
  for (uint64_t token = 7; token <= 12; ++token) {
    GrantRow grant;
    grant.token = token;
    grant.instance_id = "i";
    grant.metadata = {{"pod", "p:" + std::to_string(token)}};
    rows_->AddGrant("n", 1, grant, 3);
    rows_->AddGrant("n", 2, grant, 100);
  }
  std::vector<uint64_t> tokens;
  for (const GrantRow& grant : rows_->Grants("n", 1)) tokens.push_back(grant.token);
  EXPECT_THAT(tokens, ElementsAre(12, 11, 10));
  EXPECT_EQ(rows_->Grants("n", 2).size(), 6u);
  EXPECT_EQ(rows_->FindGrant("n", 1, 11)->metadata.at("pod"), "p:11");
  EXPECT_FALSE(rows_->FindGrant("n", 1, 9).has_value());
}

// The cost of a claim or renewal must not grow with the table.
TEST_F(SqliteRows, NoStatementReadsAWholeTable) {
  rows_->Put(Held("n", 0, "i"));
  rows_->PutRenewal(Held("n", 0, "i"));
  (void)rows_->GetNamespace("n");
  (void)rows_->Namespaces("", 10);
  (void)rows_->Get("n", 0);
  (void)rows_->FindInstance("n", "i");
  (void)rows_->LowestFree("n", 8);
  (void)rows_->BlocksDue("n", {1}, 8, std::nullopt, 8);
  (void)rows_->ExpirableInBlock("n", 0);
  rows_->SetBlockBound("n", 0, StoreTime{1});
  rows_->LowerBlockBound("n", 0, {0});
  rows_->SetBlockBound("n", 0, std::nullopt);
  rows_->AddGrant("n", 0, {}, 1);
  rows_->EndGrant("n", 0, 0, {}, {}, EndCause::kReleased, false);
  (void)rows_->FindGrant("n", 0, 0);
  (void)rows_->Grants("n", 0);
  (void)rows_->Audit("n", 1);
  (void)rows_->Scan("n", {}, 0, 1);
  rows_->DropLeases("n");
  std::vector<std::string> statements;
  for (auto* s = sqlite3_next_stmt(connection_->handle(), nullptr); s != nullptr;
       s = sqlite3_next_stmt(connection_->handle(), s)) {
    statements.emplace_back(sqlite3_sql(s));
  }
  EXPECT_GE(statements.size(), 20u);
  for (const std::string& sql : statements) {
    Statement statement(&*connection_, "EXPLAIN QUERY PLAN " + sql);
    Query query(statement);
    while (query.Next()) {
      for (int skipped = 0; skipped < 3; ++skipped) query.TakeInt();
      const std::string step = query.TakeText();
      EXPECT_THAT(step, Not(HasSubstr("SCAN"))) << sql;
      EXPECT_THAT(step, Not(HasSubstr("TEMP B-TREE"))) << sql;
    }
  }
}

}  // namespace
}  // namespace snowlease::storage
