#include "storage/sqlite/schema/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/errors.h"
#include "storage/sqlite/sqlite_test_support.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SqliteSchema : public ::testing::Test {
 protected:
  // Changes the file behind the store's back.
  void Doctor(const std::string& sql) {
    Connection connection(folder_.path(), Connection::Access::kReadWrite);
    connection.Execute(sql);
  }

  absl::Status MigrateWith(std::span<const SchemaStep> steps, MigrateMode mode) {
    try {
      Connection connection(folder_.path(), Connection::Access::kReadWrite);
      migrated_ = MigrateSchema(connection, mode, steps);
      return absl::OkStatus();
    } catch (const StoreFailure& failure) {
      return failure.status();
    }
  }

  absl::Status Migrate(MigrateMode mode) {
    auto store = folder_.Open();
    return store.ok() ? (*store)->Migrate(mode) : store.status();
  }

  SqliteFolder folder_;
  SchemaState migrated_;
};

std::vector<SchemaStep> WithNextVersion(int oldest_admitted) {
  std::vector<SchemaStep> steps(SchemaSteps().begin(), SchemaSteps().end());
  SchemaStep next = steps.back();
  next.version += 1;
  next.oldest_admitted = oldest_admitted;
  next.sql = "CREATE TABLE snowlease_next (x INTEGER)";
  next.tables.push_back("snowlease_next");
  steps.push_back(next);
  return steps;
}

TEST_F(SqliteSchema, EmptyDatabaseGetsTheSchemaAndAnIdentityThatStays) {
  const auto store = folder_.Ready();
  EXPECT_EQ(store->SchemaVersion(), SchemaSteps().back().version);
  const std::string id = store->StoreId();
  EXPECT_THAT(id, ::testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(store->Migrate(MigrateMode::kAuto), IsOk());
  EXPECT_THAT(store->Migrate(MigrateMode::kCheck), IsOk());
  EXPECT_EQ(store->StoreId(), id);
  SqliteFolder other;
  EXPECT_NE(other.Ready()->StoreId(), id);
}

// F32: missing tables with migration off.
TEST_F(SqliteSchema, EmptyDatabaseWithMigrationOffTellsTheCommand) {
  for (const MigrateMode mode : {MigrateMode::kOff, MigrateMode::kCheck}) {
    auto store = folder_.Open();
    ASSERT_THAT(store, IsOk());
    const absl::Status status = (*store)->Migrate(mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(),
                AllOf(HasSubstr("snowlease-server migrate"), HasSubstr("--store-migrate=auto")));
    EXPECT_EQ((*store)->SchemaVersion(), 0);
    EXPECT_THAT((*store)->StoreId(), IsEmpty());
    // Not ready, in every way of asking.
    EXPECT_THAT((*store)->Ping(), HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT((*store)->GetNamespace("orders"), HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT((*store)->Claim({{ClaimOf("orders", "one", folder_.clock())}}, {}).front(),
                HasReason(Reason::kStoreUnavailable));
  }
  EXPECT_THAT(Migrate(MigrateMode::kAuto), IsOk());
}

TEST_F(SqliteSchema, MissingTableIsNamed) {
  folder_.Ready().reset();
  for (const char* table : SchemaSteps().back().tables) {
    SCOPED_TRACE(table);
    const std::string name(table);
    Doctor("ALTER TABLE " + name + " RENAME TO aside");
    for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
      const absl::Status status = Migrate(mode);
      EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
      EXPECT_THAT(status.ToString(), HasSubstr("table " + name + " is missing"));
    }
    Doctor("ALTER TABLE aside RENAME TO " + name);
  }
  EXPECT_THAT(Migrate(MigrateMode::kCheck), IsOk());
}

TEST_F(SqliteSchema, DatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  { ASSERT_THAT(folder_.Open(), IsOk()); }  // an empty file
  const std::vector<std::pair<std::string, std::string>> foreign = {
      {"CREATE TABLE songs (name TEXT)", "songs"},
      {"DROP TABLE songs; CREATE VIEW charts AS SELECT 1", "charts"},
      {"DROP VIEW charts; PRAGMA application_id = 4711", "application_id 4711"}};
  for (const auto& [sql, sign] : foreign) {
    SCOPED_TRACE(sign);
    Doctor(sql);
    for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
      const absl::Status status = Migrate(mode);
      EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
      EXPECT_THAT(status.ToString(), AllOf(HasSubstr("another program"), HasSubstr(sign),
                                           HasSubstr("name another file")));
    }
  }
  Doctor("PRAGMA application_id = 0");
  EXPECT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  EXPECT_THAT(Migrate(MigrateMode::kAuto), IsOk());
}

TEST_F(SqliteSchema, OlderSchemaWithMigrationOffTellsTheCommandAndAutoMendsIt) {
  folder_.Ready().reset();
  const auto steps = WithNextVersion(1);
  for (const MigrateMode mode : {MigrateMode::kOff, MigrateMode::kCheck}) {
    const absl::Status status = MigrateWith(steps, mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("version 1, older than version 2"),
                                         HasSubstr("snowlease-server migrate")));
  }
  EXPECT_THAT(MigrateWith(steps, MigrateMode::kAuto), IsOk());
  EXPECT_EQ(migrated_.version, 2);
  EXPECT_THAT(MigrateWith(steps, MigrateMode::kCheck), IsOk());
}

TEST_F(SqliteSchema, WholeChainRunsOnAnEmptyDatabase) {
  { ASSERT_THAT(folder_.Open(), IsOk()); }
  EXPECT_THAT(MigrateWith(WithNextVersion(1), MigrateMode::kAuto), IsOk());
  EXPECT_EQ(migrated_.version, 2);
  EXPECT_EQ(migrated_.store_id.size(), 32u);
}

TEST_F(SqliteSchema, NewerSchemaThatAdmitsThisVersionServes) {
  folder_.Ready().reset();
  ASSERT_THAT(MigrateWith(WithNextVersion(1), MigrateMode::kAuto), IsOk());
  for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
    auto store = folder_.Open();
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Migrate(mode), IsOk());
    EXPECT_EQ((*store)->SchemaVersion(), 2);
    EXPECT_THAT((*store)->Claim({{ClaimOf("orders", "one", folder_.clock())}}, {}).front(), IsOk());
  }
}

TEST_F(SqliteSchema, NewerSchemaThatExcludesThisVersionIsRefusedByName) {
  folder_.Ready().reset();
  ASSERT_THAT(MigrateWith(WithNextVersion(2), MigrateMode::kAuto), IsOk());
  for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
    const absl::Status status = Migrate(mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("version 2"), HasSubstr("this one is version 1"),
                                         HasSubstr("start a newer snowlease-server")));
  }
}

TEST_F(SqliteSchema, FailedStepLeavesTheOldSchema) {
  folder_.Ready().reset();
  auto steps = WithNextVersion(1);
  steps.back().sql = "CREATE TABLE snowlease_next (x INTEGER); CREATE TABLE snowlease_lease (y);";
  EXPECT_THAT(MigrateWith(steps, MigrateMode::kAuto), HasReason(Reason::kInternal));
  const absl::Status again = MigrateWith(WithNextVersion(1), MigrateMode::kAuto);
  EXPECT_THAT(again, IsOk());
}

// F31: five servers start on one empty database.
TEST_F(SqliteSchema, FiveProcessesMigrateAnEmptyDatabaseAtOnce) {
  for (int round = 0; round < 20; ++round) {
    SqliteFolder folder;
    SqliteOptions options = folder.Options();
    options.lock_wait = Millis(30'000);
    const auto answers = RunInChildren(5, [&](int) { return folder.Ready(options)->StoreId(); });
    EXPECT_EQ(answers.front().size(), 32u) << answers.front();
    EXPECT_THAT(answers, Each(answers.front())) << "round " << round;
  }
}

// The same without the lock that keeps servers apart.
TEST_F(SqliteSchema, FiveConnectionsMigrateAnEmptyDatabaseAtOnce) {
  for (int round = 0; round < 20; ++round) {
    SqliteFolder folder;
    { ASSERT_THAT(folder.Open(), IsOk()); }
    const auto answers = RunInChildren(5, [&](int) {
      Connection connection(folder.path(), Connection::Access::kReadWrite);
      connection.SetBusyTimeout(Millis(30'000));
      return MigrateSchema(connection, MigrateMode::kAuto).store_id;
    });
    EXPECT_EQ(answers.front().size(), 32u) << answers.front();
    EXPECT_THAT(answers, Each(answers.front())) << "round " << round;
  }
}

TEST_F(SqliteSchema, RenewedColumnsAreInNoIndex) {
  folder_.Ready().reset();
  Connection connection(folder_.path(), Connection::Access::kReadOnly);
  Statement statement(&connection,
                      "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND "
                      "tbl_name = 'snowlease_lease'");
  Query query(statement);
  int indexes = 0;
  for (; query.Next(); ++indexes) {
    const std::string sql = query.TakeText();
    for (const char* column : {"used", "window_end_ms", "watermark_ms", "renewed_at_ms"}) {
      EXPECT_THAT(sql, ::testing::Not(HasSubstr(column)));
    }
  }
  EXPECT_EQ(indexes, 2);
}

}  // namespace
}  // namespace snowlease::storage
