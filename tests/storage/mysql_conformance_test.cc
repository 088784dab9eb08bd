#include "storage/mysql/mysql_lease_store.h"
#include "tests/storage/fake_clock_harness.h"
#include "tests/storage/lease_store_conformance.h"
#include "tests/testing/mysql_server.h"

namespace snowlease::testing {
namespace {

// One server for all tests; each has a database of its own. The clock is the test's: that
// the database's own is read as it should be is tested elsewhere.
class MysqlHarness final : public FakeClockHarness {
 public:
  MysqlHarness(MysqlServer* server, const storage::StoreOptions& options, bool two_stores)
      : server_(*server),
        options_(options),
        two_stores_(two_stores),
        database_(server->NewDatabase()) {}
  ~MysqlHarness() override {
    store_.reset();
    second_.reset();
    server_.Run("DROP DATABASE " + database_);
  }

  void Open() override {
    store_ = MakeStore();
    if (two_stores_) second_ = MakeStore();
  }
  void Reopen() override {
    store_.reset();
    second_.reset();
    Open();
  }
  storage::LeaseStore& store() override { return *store_; }
  storage::LeaseStore& second() override { return two_stores_ ? *second_ : *store_; }
  // The hostile server gets a short form.
  int Rounds(int full) const override { return full / (two_stores_ ? 8 : 20); }

 private:
  std::unique_ptr<storage::MysqlLeaseStore> MakeStore() {
    storage::MysqlOptions mysql = server_.Options(database_);
    if (two_stores_) mysql.connections = 2;
    mysql.store_clock = [this](storage::StoreTime) { return StoreNow(); };
    auto store = std::make_unique<storage::MysqlLeaseStore>(mysql, options_, clock());
    // The server may still be closing the connections of those who went before.
    absl::Status status;
    const bool ready = EventuallyTrue([&] {
      status = store->Migrate(storage::MigrateMode::kAuto);
      if (status.ok()) status = store->Ping().status();
      return status.ok();
    });
    if (!ready) throw std::runtime_error(status.ToString());
    return store;
  }

  MysqlServer& server_;
  const storage::StoreOptions options_;
  const bool two_stores_;
  const std::string database_;
  std::unique_ptr<storage::MysqlLeaseStore> store_;
  std::unique_ptr<storage::MysqlLeaseStore> second_;
};

MysqlServer& PlainServer() {
  static MysqlServer server;
  return server;
}

// F33, F35, F37: nothing that the server sets by default is relied on, and two connections
// are enough.
MysqlServer& HostileServer() {
  static MysqlServer server(
      {.flags = {"--wait-timeout=2", "--interactive-timeout=2", "--default-time-zone=+13:00",
                 "--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT",
                 "--transaction-isolation=REPEATABLE-READ", "--sysdate-is-now", "--autocommit=0",
                 "--character-set-server=latin1", "--lower-case-table-names=1",
                 "--innodb-lock-wait-timeout=1"},
       .time_zone = "",
       .in_memory = true,
       .most_connections = 2});
  return server;
}

const Backend kMysql = {"mysql", [](const storage::StoreOptions& options) {
                          return std::make_unique<MysqlHarness>(&PlainServer(), options, true);
                        }};
const Backend kHostile = {"mysql_hostile", [](const storage::StoreOptions& options) {
                            return std::make_unique<MysqlHarness>(&HostileServer(), options, false);
                          }};

INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreConformance, ::testing::Values(kMysql, kHostile),
                         BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreClockSteps, ::testing::Values(kMysql), BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreLockstep, ::testing::Values(kMysql), BackendName);

}  // namespace
}  // namespace snowlease::testing
