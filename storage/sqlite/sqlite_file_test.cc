// Opening the file, and who may.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "storage/errors.h"
#include "storage/sqlite/sqlite_test_support.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class SqliteFile : public ::testing::Test {
 protected:
  // The error of an open that must fail.
  absl::Status OpenError(const std::string& path) {
    SqliteOptions options = folder_.Options();
    options.path = path;
    options.lock_wait = Millis(0);
    auto store = folder_.Open(options);
    // Some damage shows only when the content is read.
    return store.ok() ? (*store)->Migrate(MigrateMode::kAuto) : store.status();
  }

  SqliteFolder folder_;
};

TEST_F(SqliteFile, DirectoryIsMadeAndFilesAreTheOwnersOnly) {
  SqliteOptions options = folder_.Options();
  options.path = folder_.folder() / "a" / "b" / "leases.db";
  const mode_t old = umask(0);
  auto store = folder_.Ready(options);
  const auto results = store->Claim({{ClaimOf("orders", "one", folder_.clock())}}, {});
  umask(old);
  ASSERT_THAT(results.front(), IsOk());
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    EXPECT_EQ(ModeOf(options.path + suffix), 0600u) << suffix;
  }
}

TEST_F(SqliteFile, SecondServerOnTheFileIsRefusedByName) {
  const auto first = folder_.Ready();
  const absl::Status here = OpenError(folder_.path());
  EXPECT_THAT(here, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(here.ToString(), HasSubstr(folder_.path()));
  EXPECT_THAT(here.ToString(), HasSubstr("process " + std::to_string(getpid())));
  const std::string elsewhere = RunInChild([&] { return OpenError(folder_.path()).ToString(); });
  EXPECT_THAT(elsewhere, HasSubstr("is in use by process " + std::to_string(getpid())));
}

TEST_F(SqliteFile, OneFileUnderTwoNamesHasOneLock) {
  const auto first = folder_.Ready();
  const std::string link = folder_.folder() / "link.db";
  std::filesystem::create_symlink(folder_.path(), link);
  EXPECT_THAT(OpenError(link).ToString(), HasSubstr("in use"));
  EXPECT_THAT(OpenError(folder_.folder() / "." / "leases.db").ToString(), HasSubstr("in use"));
}

TEST_F(SqliteFile, LockEndsWithItsProcess) {
  EXPECT_THAT(RunInChild([&]() -> std::string {
                const auto store = folder_.Ready().release();
                return store == nullptr ? "no store" : "";
              }),
              IsEmpty());
  EXPECT_THAT(OpenError(folder_.path()), IsOk());
}

TEST_F(SqliteFile, SuccessorWaitsForTheServerThatIsStopping) {
  auto first = folder_.Ready();
  std::thread stopping([&first] { first.reset(); });
  SqliteOptions options = folder_.Options();
  options.lock_wait = Millis(20'000);
  EXPECT_THAT(folder_.Open(options), IsOk());
  stopping.join();
}

TEST_F(SqliteFile, DirectoryInsteadOfFileIsRefused) {
  const absl::Status status = OpenError(folder_.folder());
  EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(status.ToString(), HasSubstr("is a directory"));
}

TEST_F(SqliteFile, WhatIsNoFileIsRefused) {
  EXPECT_THAT(OpenError("/dev/null").ToString(), HasSubstr("not a regular file"));
  for (const char* path : {"", ":memory:", "file:x.db", "file::memory:?cache=shared", "data/"}) {
    const absl::Status status = OpenError(path);
    EXPECT_THAT(status, HasReason(Reason::kInvalidArgument)) << path;
    EXPECT_EQ(FieldViolationsOf(status).at(0).field, "store.url") << path;
  }
  EXPECT_THAT(OpenError(std::string("a\0b", 3)), HasReason(Reason::kInvalidArgument));
}

TEST_F(SqliteFile, AnotherFileIsNotTakenForADatabase) {
  WriteFile(folder_.path(), std::string(8192, 'x'));
  const absl::Status status = OpenError(folder_.path());
  EXPECT_THAT(status, HasReason(Reason::kInternal));
  EXPECT_THAT(status.ToString(), HasSubstr(folder_.path() + " is not an SQLite database"));
}

TEST_F(SqliteFile, DamagedDatabaseIsNamed) {
  folder_.Ready().reset();
  std::fstream file(folder_.path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100);
  file << std::string(3000, '\xA5');
  file.close();
  const absl::Status status = OpenError(folder_.path());
  EXPECT_THAT(status, HasReason(Reason::kInternal));
  EXPECT_THAT(status.ToString(), HasSubstr(folder_.path() + " is damaged"));
}

TEST_F(SqliteFile, FileThatMayOnlyBeReadIsRefused) {
  folder_.Ready().reset();
  std::filesystem::remove(folder_.path() + ".lock");
  ASSERT_EQ(chmod(folder_.folder().c_str(), 0777), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0444), 0);
  const std::string error = RunInChild([&] {
    BecomeNobody();
    return OpenError(folder_.path()).ToString();
  });
  EXPECT_THAT(error, HasSubstr(folder_.path() + " cannot be written"));
  EXPECT_THAT(error, HasSubstr("the right to write"));
}

TEST_F(SqliteFile, DirectoryThatMayNotBeWrittenIsRefused) {
  ASSERT_EQ(chmod(folder_.folder().c_str(), 0555), 0);
  const std::string error = RunInChild([&] {
    BecomeNobody();
    return OpenError(folder_.folder() / "new" / "leases.db").ToString() + "\n" +
           OpenError(folder_.path()).ToString();
  });
  ASSERT_EQ(chmod(folder_.folder().c_str(), 0755), 0);
  EXPECT_THAT(error, HasSubstr("cannot make the directory " + (folder_.folder() / "new").string()));
  EXPECT_THAT(error, HasSubstr("cannot make " + folder_.path()));
  EXPECT_THAT(error, HasSubstr("Permission denied"));
}

TEST_F(SqliteFile, PingTellsThatTheFileIsGone) {
  const auto store = folder_.Ready();
  ASSERT_THAT(store->Ping(), IsOk());
  const std::string aside = folder_.path() + ".aside";
  std::filesystem::rename(folder_.path(), aside);
  EXPECT_THAT(store->Ping(), HasReason(Reason::kStoreUnavailable));
  WriteFile(folder_.path(), "another");
  EXPECT_THAT(store->Ping(), HasReason(Reason::kStoreUnavailable));
  std::filesystem::rename(aside, folder_.path());
  EXPECT_THAT(store->Ping(), IsOk());
}

}  // namespace
}  // namespace snowlease::storage
