#include "storage/sqlite/sqlite_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cerrno>

#include "storage/errors.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using ::testing::HasSubstr;

absl::Status ErrorOf(int code, int system_errno = 0) {
  return SqliteError(code, system_errno, "/data/leases.db", "COMMIT");
}

TEST(SqliteErrors, CodeDecidesReason) {
  struct Case {
    int code;
    Reason reason;
  };
  const Case cases[] = {
      {SQLITE_BUSY, Reason::kStoreTimeout},
      {SQLITE_BUSY_RECOVERY, Reason::kStoreTimeout},
      {SQLITE_BUSY_SNAPSHOT, Reason::kStoreTimeout},
      {SQLITE_LOCKED, Reason::kStoreTimeout},
      {SQLITE_INTERRUPT, Reason::kStoreTimeout},
      {SQLITE_FULL, Reason::kStoreUnavailable},
      {SQLITE_IOERR_WRITE, Reason::kStoreUnavailable},
      {SQLITE_IOERR_FSYNC, Reason::kStoreUnavailable},
      {SQLITE_READONLY, Reason::kStoreUnavailable},
      {SQLITE_READONLY_DIRECTORY, Reason::kStoreUnavailable},
      {SQLITE_CANTOPEN, Reason::kStoreUnavailable},
      {SQLITE_NOMEM, Reason::kStoreUnavailable},
      {SQLITE_CORRUPT, Reason::kInternal},
      {SQLITE_CORRUPT_INDEX, Reason::kInternal},
      {SQLITE_NOTADB, Reason::kInternal},
      {SQLITE_CONSTRAINT_UNIQUE, Reason::kInternal},
      {SQLITE_MISUSE, Reason::kInternal},
      {SQLITE_ERROR, Reason::kInternal},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ErrorOf(c.code), HasReason(c.reason)) << c.code;
    EXPECT_THAT(ErrorOf(c.code).ToString(), HasSubstr("/data/leases.db")) << c.code;
  }
}

TEST(SqliteErrors, NoRoomTellsWhatToDoHoweverItIsReported) {
  const absl::Status errors[] = {ErrorOf(SQLITE_FULL), ErrorOf(SQLITE_IOERR_WRITE, ENOSPC),
                                 ErrorOf(SQLITE_IOERR_WRITE, EDQUOT),
                                 ErrorOf(SQLITE_IOERR_WRITE, EFBIG),
                                 FileError(ENOSPC, "/data/leases.db", "make")};
  for (const absl::Status& status : errors) {
    EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT(status.ToString(), HasSubstr("free disk space"));
  }
  EXPECT_THAT(ErrorOf(SQLITE_IOERR_WRITE, EIO).ToString(),
              ::testing::Not(HasSubstr("free disk space")));
}

}  // namespace
}  // namespace snowlease::storage
