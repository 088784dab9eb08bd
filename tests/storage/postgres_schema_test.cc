#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/errors.h"
#include "storage/postgres/postgres_errors.h"
#include "storage/postgres/postgres_lease_store.h"
#include "storage/postgres/schema/schema.h"
#include "tests/testing/matchers.h"
#include "tests/testing/postgres_server.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using snowlease::testing::PostgresServer;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr Millis kTimeout{30'000};

class PostgresSchema : public ::testing::Test {
 protected:
  PostgresSchema() : schema_("schema_" + std::to_string(++count_)) {}

  static PostgresServer& Server() { return PostgresServer::Shared(); }
  void Doctor(const std::string& sql) { Server().Run(sql); }

  std::unique_ptr<PostgresLeaseStore> Open(const std::string& user = "snowlease") {
    auto store =
        PostgresLeaseStore::Open({Server().Url("schema=" + schema_, user), ""}, {}, Clock::Real());
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }
  absl::Status Migrate(MigrateMode mode, const std::string& user = "snowlease") {
    return Open(user)->Migrate(mode);
  }
  absl::Status MigrateWith(std::span<const PostgresSchemaStep> steps, MigrateMode mode) {
    try {
      Session session(Server().Url(), "the database");
      migrated_ = MigratePostgresSchema(session, schema_, mode, kTimeout, steps);
      return absl::OkStatus();
    } catch (const StoreFailure& failure) {
      return failure.status();
    }
  }

  static inline int count_ = 0;
  const std::string schema_;
  PostgresSchemaState migrated_;
};

std::vector<PostgresSchemaStep> WithNextVersion(int oldest_admitted) {
  std::vector<PostgresSchemaStep> steps(PostgresSchemaSteps().begin(), PostgresSchemaSteps().end());
  PostgresSchemaStep next = steps.back();
  next.version += 1;
  next.oldest_admitted = oldest_admitted;
  next.sql = "CREATE TABLE {s}.snowlease_next (x INTEGER)";
  next.tables.push_back("snowlease_next");
  steps.push_back(next);
  return steps;
}

TEST_F(PostgresSchema, EmptySchemaGetsTablesAndAnIdentityThatStays) {
  const auto store = Open();
  EXPECT_THAT(store->Migrate(MigrateMode::kAuto), IsOk());
  EXPECT_EQ(store->SchemaVersion(), 1);
  EXPECT_THAT(store->StoreId(), ::testing::MatchesRegex("[0-9a-f]{32}"));
  for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
    const auto again = Open();
    EXPECT_THAT(again->Migrate(mode), IsOk());
    EXPECT_EQ(again->StoreId(), store->StoreId());
  }
}

// F32
TEST_F(PostgresSchema, EmptyDatabaseWithMigrationOffTellsTheCommand) {
  for (const MigrateMode mode : {MigrateMode::kOff, MigrateMode::kCheck}) {
    const auto store = Open();
    const absl::Status status = store->Migrate(mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), HasSubstr("snowlease-server migrate"));
    EXPECT_THAT(store->Ping(), HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(store->GetNamespace("orders"), HasReason(Reason::kStoreUnavailable));
    const RenewSpec renewal;
    EXPECT_THAT(store->Renew({&renewal, 1}, {}).front(), HasReason(Reason::kStoreUnavailable));
  }
}

TEST_F(PostgresSchema, MissingTableIsNamed) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  for (const char* table : PostgresSchemaSteps().back().tables) {
    const std::string name(table);
    Doctor("ALTER TABLE " + schema_ + "." + name + " RENAME TO aside");
    for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
      const absl::Status status = Migrate(mode);
      EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
      EXPECT_THAT(status.ToString(), HasSubstr("table " + name + " is missing"));
    }
    Doctor("ALTER TABLE " + schema_ + ".aside RENAME TO " + name);
  }
  EXPECT_THAT(Migrate(MigrateMode::kCheck), IsOk());
}

TEST_F(PostgresSchema, TableThatVanishesUnderTheServerIsToldByPing) {
  const auto store = Open();
  ASSERT_THAT(store->Migrate(MigrateMode::kAuto), IsOk());
  Doctor("DROP SCHEMA " + schema_ + " CASCADE");
  EXPECT_THAT(store->Ping(), HasReason(Reason::kStoreUnavailable));
}

TEST_F(PostgresSchema, OlderSchemaWithMigrationOffTellsTheCommandAndAutoMendsIt) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  const auto steps = WithNextVersion(1);
  for (const MigrateMode mode : {MigrateMode::kOff, MigrateMode::kCheck}) {
    const absl::Status status = MigrateWith(steps, mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("version 1, older than version 2"),
                                         HasSubstr("snowlease-server migrate")));
  }
  EXPECT_THAT(MigrateWith(steps, MigrateMode::kAuto), IsOk());
  EXPECT_EQ(migrated_.version, 2);
}

TEST_F(PostgresSchema, NewerSchemaServesOnlyWhomItAdmits) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  ASSERT_THAT(MigrateWith(WithNextVersion(1), MigrateMode::kAuto), IsOk());
  EXPECT_THAT(Migrate(MigrateMode::kOff), IsOk());
  Doctor("UPDATE " + schema_ + ".snowlease_schema SET oldest_admitted = 2");
  for (const MigrateMode mode : {MigrateMode::kAuto, MigrateMode::kCheck, MigrateMode::kOff}) {
    const absl::Status status = Migrate(mode);
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("version 2"), HasSubstr("this one is version 1"),
                                         HasSubstr("start a newer snowlease-server")));
  }
}

TEST_F(PostgresSchema, FailedStepLeavesTheOldSchema) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  auto steps = WithNextVersion(1);
  steps.back().sql = "CREATE TABLE {s}.snowlease_next (x INTEGER); SELECT no_such_column";
  EXPECT_FALSE(MigrateWith(steps, MigrateMode::kAuto).ok());
  EXPECT_THAT(MigrateWith(WithNextVersion(1), MigrateMode::kAuto), IsOk());
}

TEST_F(PostgresSchema, AccountThatMayNotMakeTablesIsToldWhatToDo) {
  Doctor("CREATE ROLE weak LOGIN");
  const absl::Status missing = Migrate(MigrateMode::kAuto, "weak");
  EXPECT_THAT(missing, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(missing.ToString(), HasSubstr("may not make tables"));
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  Doctor("GRANT USAGE ON SCHEMA " + schema_ + " TO weak; GRANT SELECT ON " + schema_ +
         ".snowlease_schema TO weak");
  const auto store = Open("weak");
  ASSERT_THAT(store->Migrate(MigrateMode::kAuto), IsOk()) << "there is nothing to do";
  ClaimSpec spec;
  spec.name_space = "orders";
  spec.instance_id = "a";
  spec.client_time = {Clock::Real()->Now().ms};
  const auto refused = store->Claim({&spec, 1}, {}).front();
  EXPECT_THAT(refused, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(refused.status().ToString(), HasSubstr("grant it"));
  Doctor("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema_ + " TO weak");
  EXPECT_THAT(store->Claim({&spec, 1}, {}).front(), IsOk()) << "it may do without more";
}

TEST_F(PostgresSchema, DatabaseWithoutUtf8IsRefused) {
  Doctor("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
  std::string url = Server().Url();
  url.replace(url.rfind("/postgres"), 9, "/latin");
  auto store = PostgresLeaseStore::Open({url, ""}, {}, Clock::Real());
  ASSERT_THAT(store, IsOk());
  EXPECT_THAT((*store)->Migrate(MigrateMode::kAuto).ToString(), HasSubstr("ENCODING 'UTF8'"));
}

// F31: five servers start on one empty database.
TEST_F(PostgresSchema, FiveProcessesMigrateAnEmptyDatabaseAtOnce) {
  Server();
  for (int round = 0; round < 20; ++round) {
    const std::string url = Server().Url("schema=race_" + std::to_string(round));
    std::vector<std::pair<pid_t, int>> children;
    for (int i = 0; i < 5; ++i) {
      int ends[2];
      ASSERT_EQ(pipe(ends), 0);
      const pid_t pid = fork();
      if (pid == 0) {
        auto store = PostgresLeaseStore::Open({url, ""}, {}, Clock::Real());
        const absl::Status status = (*store)->Migrate(MigrateMode::kAuto);
        const std::string text = status.ok() ? (*store)->StoreId() : status.ToString();
        (void)!write(ends[1], text.data(), text.size());
        _exit(0);
      }
      close(ends[1]);
      children.push_back({pid, ends[0]});
    }
    std::vector<std::string> answers;
    for (const auto& [pid, end] : children) {
      char text[500];
      const ssize_t size = read(end, text, sizeof(text));
      answers.emplace_back(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
      close(end);
      waitpid(pid, nullptr, 0);
    }
    EXPECT_EQ(answers.front().size(), 32u) << answers.front();
    EXPECT_THAT(answers, Each(answers.front())) << "round " << round;
  }
}

TEST_F(PostgresSchema, RenewedColumnsAreInNoIndex) {
  ASSERT_THAT(Migrate(MigrateMode::kAuto), IsOk());
  const std::string definitions = Server().Run(
      "SELECT string_agg(indexdef, '; ') FROM pg_indexes WHERE tablename = 'snowlease_lease' AND "
      "schemaname = '" +
      schema_ + "'");
  EXPECT_THAT(definitions, HasSubstr("free_floor_ms"));
  for (const char* column :
       {"used", "window_end_ms", "watermark_ms", "renewed_at_ms", "renewed_before_ms"}) {
    EXPECT_THAT(definitions, ::testing::Not(HasSubstr(column)));
  }
}

}  // namespace
}  // namespace snowlease::storage
