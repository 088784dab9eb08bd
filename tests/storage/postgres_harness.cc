#include "tests/storage/postgres_harness.h"

#include <unistd.h>

#include <atomic>
#include <pqxx/nontransaction>

namespace snowlease::testing {
namespace {

std::string NewSchema() {
  static std::atomic<int> last{0};
  return "test_" + std::to_string(getpid()) + "_" + std::to_string(++last);
}

}  // namespace

PostgresHarness::PostgresHarness(const storage::StoreOptions& options,
                                 const std::string& server_url, std::string url)
    : options_(options),
      url_(std::move(url)),
      schema_(NewSchema()),
      control_(server_url),
      quiet_(control_) {
  pqxx::nontransaction(control_).exec("CREATE SCHEMA " + schema_ + "; CREATE SEQUENCE " + schema_ +
                                      ".clock");
  SetStoreClock();
}

PostgresHarness::~PostgresHarness() {
  store_.reset();
  second_.reset();
  pqxx::nontransaction(control_).exec("DROP SCHEMA " + schema_ + " CASCADE");
}

std::unique_ptr<storage::PostgresLeaseStore> PostgresHarness::MakeStore() {
  storage::PostgresOptions postgres;
  // The clock of the test may run ahead by minutes while a call waits.
  postgres.url = url_ + "?schema=" + schema_ + "&connections=4&timeout_ms=3600000";
  postgres.store_clock = "(SELECT last_value FROM " + schema_ + ".clock)";
  auto store = storage::PostgresLeaseStore::Open(postgres, options_, clock());
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  const absl::Status status = (*store)->Migrate(storage::MigrateMode::kAuto);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return *std::move(store);
}

void PostgresHarness::Open() {
  store_ = MakeStore();
  second_ = MakeStore();
}

void PostgresHarness::Reopen() {
  store_.reset();
  second_.reset();
  Open();
}

void PostgresHarness::Advance(storage::Millis by) {
  const std::lock_guard lock(mutex_);
  FakeClockHarness::Advance(by);
  SetStoreClock();
}

void PostgresHarness::StepStoreClock(storage::Millis by) {
  const std::lock_guard lock(mutex_);
  FakeClockHarness::StepStoreClock(by);
  SetStoreClock();
}

void PostgresHarness::SetStoreClock() {
  pqxx::nontransaction(control_).exec("SELECT setval('" + schema_ + ".clock', " +
                                      std::to_string(StoreNow().ms) + ")");
}

}  // namespace snowlease::testing
