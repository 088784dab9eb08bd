#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "storage/errors.h"
#include "storage/mysql/mysql_lease_store.h"
#include "storage/mysql/schema/schema.h"
#include "tests/testing/matchers.h"
#include "tests/testing/mysql_server.h"

namespace snowlease::testing {
namespace {

using namespace storage;         // NOLINT: speaks to the store throughout
using namespace storage::mysql;  // NOLINT
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class MysqlSchema : public ::testing::Test {
 protected:
  MysqlSchema() : database_(server().NewDatabase()) {}

  static MysqlServer& server() {
    static MysqlServer server;
    return server;
  }
  absl::Status Migrate(MigrateMode mode) {
    return MysqlLeaseStore(server().Options(database_), {}, Clock::Real()).Migrate(mode);
  }
  absl::Status MigrateWith(std::span<const SchemaStep> steps, MigrateMode mode) {
    try {
      Connection connection(server().Options(database_));
      migrated_ = MigrateSchema(connection, mode, steps);
      return absl::OkStatus();
    } catch (const StoreFailure& failure) {
      return failure.status();
    }
  }
  void Doctor(const std::string& sql) { server().Root(database_).Execute(sql); }

  const std::string database_;
  SchemaState migrated_;
};

std::vector<SchemaStep> WithNextVersion(int oldest_admitted) {
  std::vector<SchemaStep> steps(SchemaSteps().begin(), SchemaSteps().end());
  SchemaStep next = steps.back();
  next.version += 1;
  next.oldest_admitted = oldest_admitted;
  next.statements = {"CREATE TABLE IF NOT EXISTS snowlease_next (x INT PRIMARY KEY)"};
  next.tables.push_back("snowlease_next");
  steps.push_back(next);
  return steps;
}

// F31: five servers start on one empty database; here, as many connections do.
TEST_F(MysqlSchema, FiveServersMigrateAnEmptyDatabaseAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const std::string database = server().NewDatabase();
    std::vector<std::string> answers(5);
    std::vector<std::thread> threads;
    for (std::string& answer : answers) {
      threads.emplace_back([&answer, &database] {
        MysqlLeaseStore store(server().Options(database), {}, Clock::Real());
        const absl::Status status = store.Migrate(MigrateMode::kAuto);
        answer = status.ok() ? store.StoreId() : status.ToString();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(answers.front().size(), 32u) << answers.front();
    EXPECT_THAT(answers, Each(answers.front())) << "round " << round;
    server().Run("DROP DATABASE " + database);
  }
}

// F32: missing tables with migration off.
TEST_F(MysqlSchema, EmptyDatabaseWithMigrationOffTellsTheCommand) {
  for (const MigrateMode mode : {MigrateMode::kOff, MigrateMode::kCheck}) {
    MysqlLeaseStore store(server().Options(database_), {}, Clock::Real());
    const absl::Status status = store.Migrate(mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), HasSubstr("snowlease-server migrate"));
    EXPECT_THAT(store.Ping(), HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(store.GetNamespace("orders"), HasReason(Reason::kStoreUnavailable));
  }
  EXPECT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  EXPECT_THAT(Migrate(MigrateMode::kOff), IsOk());
}

// F32: a user who may not make tables.
TEST_F(MysqlSchema, MissingRightIsAClearError) {
  server().Run("CREATE USER reader@'%' IDENTIFIED BY 'x'");
  server().Run("GRANT SELECT, INSERT, UPDATE, DELETE ON " + database_ + ".* TO reader@'%'");
  MysqlOptions options = server().Options(database_);
  options.user = "reader";
  options.password = "x";
  const absl::Status status =
      MysqlLeaseStore(options, {}, Clock::Real()).Migrate(MigrateMode::kAuto);
  EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("CREATE"), HasSubstr("snowlease-server migrate")));
  // With the tables made by somebody else these rights are enough.
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  EXPECT_THAT(MysqlLeaseStore(options, {}, Clock::Real()).Migrate(MigrateMode::kAuto), IsOk());
}

TEST_F(MysqlSchema, MissingTableIsNamed) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  for (const char* table : SchemaSteps().back().tables) {
    SCOPED_TRACE(table);
    const std::string name(table);
    Doctor("RENAME TABLE " + name + " TO aside");
    for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck}) {
      const absl::Status status = Migrate(mode);
      EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
      EXPECT_THAT(status.ToString(), HasSubstr("table " + name + " is missing"));
    }
    Doctor("RENAME TABLE aside TO " + name);
  }
  EXPECT_THAT(Migrate(MigrateMode::kCheck), IsOk());
}

// DDL is not undone: what a migration that was cut off has made is used by the next.
TEST_F(MysqlSchema, MigrationThatWasCutOffIsContinued) {
  const auto& statements = SchemaSteps().front().statements;
  for (size_t done = 0; done <= statements.size(); ++done) {
    auto steps = std::vector<SchemaStep>(SchemaSteps().begin(), SchemaSteps().end());
    steps.front().statements.resize(done);
    steps.front().statements.push_back("CREATE NONSENSE");
    EXPECT_THAT(MigrateWith(steps, MigrateMode::kAuto), ::testing::Not(IsOk()));
    EXPECT_THAT(Migrate(MigrateMode::kCheck), HasReason(Reason::kStoreUnavailable));
  }
  EXPECT_THAT(Migrate(MigrateMode::kAuto), IsOk());
}

TEST_F(MysqlSchema, OlderAndNewerSchemas) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  const auto admitting = WithNextVersion(1);
  const absl::Status older = MigrateWith(admitting, MigrateMode::kOff);
  EXPECT_THAT(older.ToString(), AllOf(HasSubstr("version 1, older than version 2"),
                                      HasSubstr("snowlease-server migrate")));
  ASSERT_THAT(MigrateWith(admitting, MigrateMode::kAuto), IsOk());
  EXPECT_EQ(migrated_.version, 2);
  EXPECT_THAT(Migrate(MigrateMode::kAuto), IsOk()) << "a newer schema that admits this version";
  Doctor("UPDATE snowlease_schema SET oldest_admitted = 2");
  const absl::Status newer = Migrate(MigrateMode::kAuto);
  EXPECT_THAT(newer, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(newer.ToString(), AllOf(HasSubstr("version 2"), HasSubstr("this one is version 1"),
                                      HasSubstr("start a newer snowlease-server")));
}

TEST_F(MysqlSchema, RenewedColumnsAreInNoIndex) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  auto root = server().Root(database_);
  Rows rows = root.Query(
      "SELECT COUNT(*), SUM(COLUMN_NAME IN ('used', 'window_end_ms', 'watermark_ms', "
      "'renewed_at_ms')) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND "
      "TABLE_NAME = 'snowlease_lease'");
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.TakeInt(), 7);
  EXPECT_EQ(rows.TakeInt(), 0);
}

// F35: unsupported versions are refused by name.
TEST(MysqlVersion, OlderOnesAreRefusedByName) {
  for (const char* version : {"8.0.11", "8.0.36-28", "8.4.2", "9.1.0", "10.6.4-MariaDB",
                              "10.11.6-MariaDB-0+deb12u1", "11.4.2-MariaDB-log"}) {
    EXPECT_NO_THROW(CheckVersion(version, "db:3306")) << version;
  }
  const auto refusal = [](const std::string& version) {
    try {
      CheckVersion(version, "db:3306");
      return std::string("taken");
    } catch (const StoreFailure& failure) {
      EXPECT_THAT(failure.status(), HasReason(Reason::kStoreUnavailable));
      return failure.status().ToString();
    }
  };
  EXPECT_THAT(refusal("5.7.44-log"),
              AllOf(HasSubstr("db:3306 is MySQL 5.7.44-log"), HasSubstr("MySQL 8.0 or later")));
  EXPECT_THAT(refusal("10.5.23-MariaDB"),
              AllOf(HasSubstr("is MariaDB 10.5.23-MariaDB"), HasSubstr("MariaDB 10.6 or later")));
  EXPECT_THAT(refusal("8.0.11-TiDB-v7.5.0"), HasSubstr("is TiDB"));
  EXPECT_THAT(refusal(""), HasSubstr("needs MySQL 8.0"));
}

}  // namespace
}  // namespace snowlease::testing
