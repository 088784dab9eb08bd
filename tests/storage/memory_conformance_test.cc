#include "storage/memory/memory_lease_store.h"
#include "tests/storage/fake_clock_harness.h"
#include "tests/storage/lease_store_conformance.h"

namespace snowlease::testing {
namespace {

class MemoryHarness final : public FakeClockHarness {
 public:
  explicit MemoryHarness(const storage::StoreOptions& options)
      : store_(options, clock(), [this] { return StoreNow(); }) {}

  void Open() override {
    const absl::Status status = store_.Migrate(storage::MigrateMode::kAuto);
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  void Reopen() override {}
  storage::LeaseStore& store() override { return store_; }

 private:
  storage::MemoryLeaseStore store_;
};

const Backend kMemory = {"memory", [](const storage::StoreOptions& options) {
                           return std::make_unique<MemoryHarness>(options);
                         }};

INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreConformance, ::testing::Values(kMemory), BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreClockSteps, ::testing::Values(kMemory), BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreLockstep, ::testing::Values(kMemory), BackendName);

}  // namespace
}  // namespace snowlease::testing
