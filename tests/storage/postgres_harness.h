#pragma once

#include <memory>
#include <mutex>
#include <pqxx/connection>
#include <string>

#include "storage/postgres/postgres_lease_store.h"
#include "tests/storage/fake_clock_harness.h"

namespace snowlease::testing {

// A store in a schema of its own. Its clock is a sequence in that schema, which unlike a
// row is seen by everybody the moment it is set.
class PostgresHarness final : public FakeClockHarness {
 public:
  // `server_url` reaches the server itself, `url` is what the stores are given; both end
  // before the options.
  PostgresHarness(const storage::StoreOptions& options, const std::string& server_url,
                  std::string url);
  ~PostgresHarness() override;

  void Open() override;
  void Reopen() override;
  storage::LeaseStore& store() override { return *store_; }
  storage::LeaseStore& second() override { return *second_; }
  void Advance(storage::Millis by) override;
  void StepStoreClock(storage::Millis by) override;
  int Rounds(int full) const override { return full / 8; }

 private:
  std::unique_ptr<storage::PostgresLeaseStore> MakeStore();
  void SetStoreClock();  // with mutex_ held

  const storage::StoreOptions options_;
  const std::string url_;
  const std::string schema_;
  std::mutex mutex_;
  pqxx::connection control_;
  pqxx::quiet_errorhandler quiet_;
  std::unique_ptr<storage::PostgresLeaseStore> store_;
  std::unique_ptr<storage::PostgresLeaseStore> second_;
};

}  // namespace snowlease::testing
