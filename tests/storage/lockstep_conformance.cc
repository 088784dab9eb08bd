#include "storage/memory/memory_lease_store.h"
#include "tests/storage/random_steps.h"

// The backend and the reference model, asked the same in the same moments, say the same.

namespace snowlease::testing {
namespace {

std::string Everything(storage::LeaseStore& store, const std::string& name) {
  std::string text = Describe(store.GetNamespace(name)) + "\n";
  text += Describe(store.ListLeases(name, {}, 0, 100));
  for (uint32_t id = 0; id < 8; ++id) text += Describe(store.GetLease(name, id)) + "\n";
  return text + Describe(store.ListAudit(name, 1000));
}

TEST_P(LeaseStoreLockstep, SaysWhatTheReferenceModelSays) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto harness = GetParam().make({});
    harness->Open();
    storage::MemoryLeaseStore model({}, harness->FrozenHostClock(),
                                    [&harness] { return harness->StoreNow(); });
    ASSERT_THAT(model.Migrate(storage::MigrateMode::kAuto), IsOk());
    RandomSteps steps(seed, harness.get(), /*store_clock_steps=*/true);
    for (int i = 1; i <= harness->Rounds(2500); ++i) {
      const RandomSteps::Step step = steps.Next();
      const std::string expected = step.run(model);
      ASSERT_EQ(step.run(harness->store()), expected) << "step " << i << ": " << step.what;
      if (i % 100 == 0) harness->Reopen();
      if (i % 25 != 0) continue;
      for (const std::string& name : RandomSteps::Namespaces()) {
        ASSERT_EQ(Everything(harness->store(), name), Everything(model, name)) << "step " << i;
      }
    }
  }
}

}  // namespace
}  // namespace snowlease::testing
