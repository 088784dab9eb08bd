#include "storage/postgres/postgres_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pqxx/except>

#include "storage/errors.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using ::testing::HasSubstr;

TEST(PostgresErrors, ConflictsAreRepeated) {
  for (const char* state : {"40001", "40P01", "40000"}) {
    EXPECT_EQ(KindOfSqlState(state), FailureKind::kRepeat) << state;
  }
  EXPECT_EQ(FailureOf(pqxx::deadlock_detected("x"), "db").kind(), FailureKind::kRepeat);
  EXPECT_EQ(FailureOf(pqxx::serialization_failure("x"), "db").kind(), FailureKind::kRepeat);
}

TEST(PostgresErrors, LostAndReadOnlyServersAreLeft) {
  for (const char* state :
       {"08006", "08P01", "57P01", "57P02", "57P03", "25006", "25P03", "53300", "40003"}) {
    EXPECT_EQ(KindOfSqlState(state), FailureKind::kConnection) << state;
    EXPECT_THAT(FailureOf(state, "x", "db").status(), HasReason(Reason::kStoreUnavailable));
  }
  EXPECT_EQ(FailureOf(pqxx::broken_connection("x"), "db").kind(), FailureKind::kConnection);
}

TEST(PostgresErrors, TimeoutsAreToldApart) {
  for (const char* state : {"57014", "55P03"}) {
    EXPECT_EQ(KindOfSqlState(state), FailureKind::kTimeout);
    EXPECT_THAT(FailureOf(state, "x", "db").status(), HasReason(Reason::kStoreTimeout));
  }
}

TEST(PostgresErrors, FullDiskIsUnavailableAndUnknownErrorsAreInternal) {
  EXPECT_THAT(FailureOf("53100", "no space", "db").status(), HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(FailureOf("53100", "no space", "db").status().ToString(), HasSubstr("no room"));
  EXPECT_THAT(FailureOf("22P02", "what", "db").status(), HasReason(Reason::kInternal));
}

TEST(PostgresErrors, TypesWithoutAStateStandForTheirs) {
  EXPECT_EQ(FailureOf(pqxx::insufficient_privilege("x"), "db").sqlstate(), "42501");
  EXPECT_EQ(FailureOf(pqxx::undefined_table("x"), "db").sqlstate(), "42P01");
  EXPECT_EQ(FailureOf(pqxx::disk_full("x"), "db").sqlstate(), "53100");
}

TEST(PostgresErrors, MessagesHaveOneLineAndTheState) {
  const std::string text =
      FailureOf("42P01", "ERROR:  relation\nLINE 1: x\n", "PostgreSQL at h/d").status().ToString();
  EXPECT_THAT(text, HasSubstr("PostgreSQL at h/d"));
  EXPECT_THAT(text, HasSubstr("relation; LINE 1: x, SQLSTATE 42P01"));
  EXPECT_THAT(text, HasSubstr("snowlease-server migrate"));
}

}  // namespace
}  // namespace snowlease::storage
