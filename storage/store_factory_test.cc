#include "storage/store_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "storage/errors.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StoreFactory : public ::testing::Test {
 protected:
  StoreFactory() {
    std::string folder = std::filesystem::temp_directory_path() / "snowlease-factory-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder");
    folder_ = folder;
  }
  ~StoreFactory() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  auto Open(const std::string& url) { return OpenStore(url, StoreOptions(), &clock_); }
  // The description of the one violation, which is of store.url.
  std::string Violation(const std::string& url) {
    const auto store = Open(url);
    EXPECT_THAT(store, HasReason(Reason::kInvalidArgument)) << url;
    const auto violations = FieldViolationsOf(store.status());
    if (violations.size() != 1) return "not one violation";
    EXPECT_EQ(violations[0].field, "store.url");
    return violations[0].description;
  }

  testing::FakeClock clock_;
  std::string folder_;
};

TEST_F(StoreFactory, MemoryStoreOpens) {
  const auto store = Open("memory:");
  ASSERT_THAT(store, IsOk());
  EXPECT_EQ((*store)->GetCapabilities().backend, "memory");
  EXPECT_THAT(Violation("memory:x"), HasSubstr("nothing after the colon"));
}

TEST_F(StoreFactory, UnknownSchemeListsWhatIsBuilt) {
  for (const char* url : {"oracle://u:secret@h/db", "SQLITE:x", "nonsense", "", ":", "://"}) {
    EXPECT_THAT(Violation(url), AllOf(HasSubstr("memory:"), Not(HasSubstr("secret")))) << url;
  }
  EXPECT_THAT(Violation("oracle://h/db"), HasSubstr("no store \"oracle:\" is built"));
}

#ifdef SNOWLEASE_SQLITE
TEST_F(StoreFactory, SqliteStoreOpensWithItsOptions) {
  const std::string url = "sqlite:" + folder_ + "/deep/er/leases.db";
  {
    const auto store = Open(url + "?wal_autocheckpoint=1000&busy_timeout_ms=100&lock_wait_ms=0");
    ASSERT_THAT(store, IsOk());
    EXPECT_EQ((*store)->GetCapabilities().backend, "sqlite");
    // Opening does not migrate.
    EXPECT_THAT((*store)->Migrate(MigrateMode::kCheck), HasReason(Reason::kStoreUnavailable));
    EXPECT_THAT((*store)->Migrate(MigrateMode::kAuto), IsOk());
  }
  EXPECT_THAT(Open(url + "?"), IsOk());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/deep/er/leases.db"));
}

TEST_F(StoreFactory, BadSqliteUrlsAreToldApart) {
  EXPECT_THAT(Violation("sqlite:"), HasSubstr("needs the path"));
  EXPECT_THAT(Violation("sqlite::memory:"), HasSubstr("not a file"));
  EXPECT_THAT(Violation("sqlite://data/leases.db"), HasSubstr("sqlite:PATH without slashes"));
  EXPECT_THAT(Violation("sqlite:x?journal=off"),
              AllOf(HasSubstr("no option \"journal\""), HasSubstr("wal_autocheckpoint")));
  for (const char* value : {"", "=", "=0", "=-1", "=1e3", "=10 ", "=99999999999999999999"}) {
    EXPECT_THAT(Violation(std::string("sqlite:x?wal_autocheckpoint") + value),
                HasSubstr("wal_autocheckpoint must be a whole number from 1 to"));
  }
  EXPECT_THAT(Violation("sqlite:x?busy_timeout_ms=0"), HasSubstr("busy_timeout_ms must be"));
  EXPECT_FALSE(std::filesystem::exists("x"));
}

TEST_F(StoreFactory, UnusableFileIsUnavailable) {
  EXPECT_THAT(Open("sqlite:" + folder_), HasReason(Reason::kStoreUnavailable));
}
#endif

TEST(RedactedUrl, HidesPasswordsWhereverTheyStand) {
  struct Case {
    std::string url;
    std::string redacted;
  };
  const Case cases[] = {
      {"memory:", "memory:"},
      {"sqlite:./data/a@b:c.db?lock_wait_ms=1", "sqlite:./data/a@b:c.db?lock_wait_ms=1"},
      {"postgresql://host/db", "postgresql://host/db"},
      {"postgresql://host:5432/db", "postgresql://host:5432/db"},
      {"postgresql://user@host:5432/db", "postgresql://user@host:5432/db"},
      {"postgresql://user:pw@h1:1,h2:2/db", "postgresql://user:***@h1:1,h2:2/db"},
      {"postgresql://user:p@w:x/y?z@host/db", "postgresql://user:***@host/db"},
      {"redis://:pw@host:6379/0", "redis://:***@host:6379/0"},
      {"redis+sentinel://u:pw@h/?sentinel_password=s&db=1",
       "redis+sentinel://u:***@h/?sentinel_password=***&db=1"},
      {"mysql:user:pw@host", "mysql:user:***@host"},
      {"mysql://host/db?user=u&password=pw&ssl=on", "mysql://host/db?user=u&password=***&ssl=on"},
      {"postgresql://host/db?SSLPassword=pw", "postgresql://host/db?SSLPassword=***"},
      {"postgresql:host=h password=pw", "postgresql:host=h password=***"},
  };
  for (const Case& c : cases) EXPECT_EQ(RedactedUrl(c.url), c.redacted);
}

}  // namespace
}  // namespace snowlease::storage
