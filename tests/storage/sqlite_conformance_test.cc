#include <unistd.h>

#include <filesystem>

#include "storage/sqlite/sqlite_lease_store.h"
#include "tests/storage/fake_clock_harness.h"
#include "tests/storage/lease_store_conformance.h"

namespace snowlease::testing {
namespace {

// The suite makes hundreds of thousands of commits; in memory they cost no disk
// flushes, and what flushes are for is tested with crashes elsewhere.
std::filesystem::path FastFolder() {
  const std::filesystem::path shared_memory = "/dev/shm";
  if (access(shared_memory.c_str(), W_OK) == 0) return shared_memory;
  return std::filesystem::temp_directory_path();
}

class SqliteHarness final : public FakeClockHarness {
 public:
  explicit SqliteHarness(const storage::StoreOptions& options) : options_(options) {
    std::string folder = FastFolder() / "snowlease-conformance-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for the database");
    folder_ = folder;
  }
  ~SqliteHarness() override {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Open() override {
    storage::SqliteOptions sqlite;
    sqlite.path = folder_ / "leases.db";
    sqlite.store_clock = [this] { return StoreNow(); };
    auto store = storage::SqliteLeaseStore::Open(sqlite, options_, clock());
    if (!store.ok()) throw std::runtime_error(store.status().ToString());
    store_ = *std::move(store);
    const absl::Status status = store_->Migrate(storage::MigrateMode::kAuto);
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  void Reopen() override {
    store_.reset();
    Open();
  }
  storage::LeaseStore& store() override { return *store_; }

 private:
  const storage::StoreOptions options_;
  std::filesystem::path folder_;
  std::unique_ptr<storage::SqliteLeaseStore> store_;
};

const Backend kSqlite = {"sqlite", [](const storage::StoreOptions& options) {
                           return std::make_unique<SqliteHarness>(options);
                         }};

INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreConformance, ::testing::Values(kSqlite), BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreClockSteps, ::testing::Values(kSqlite), BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreLockstep, ::testing::Values(kSqlite), BackendName);

}  // namespace
}  // namespace snowlease::testing
