#pragma once

#include <memory>

#include "service/batching/group_committer.h"
#include "service/health/readiness.h"
#include "service/http/http_api.h"
#include "service/metrics/server_metrics.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fault_injecting_lease_store.h"

namespace snowlease::service {

// All that an HttpApi needs, over a memory store, for tests.
class HttpTestBackend {
 public:
  explicit HttpTestBackend(storage::Clock* clock, bool admin = true)
      : store(Migrated(clock)),
        metrics({"0.0.0", "memory", {}}, clock),
        committer(&store, clock, {}, &metrics.calls()),
        executor(2, 16),
        machine_ids(&committer, &store, &executor, clock, {}),
        admin_handler(&store, clock, {admin}),
        readiness(Readiness::Options{}),
        gateway(&machine_ids, &admin_handler, clock, storage::Millis(5000), /*max_calls=*/12),
        api({}, &readiness, &metrics, &gateway) {
    readiness.Observe({absl::OkStatus(), storage::Millis(0), 1}, clock->SteadyNow());
  }

  testing::FaultInjectingLeaseStore store;
  ServerMetrics metrics;
  GroupCommitter committer;
  BlockingExecutor executor;
  MachineIdHandler machine_ids;
  AdminHandler admin_handler;
  Readiness readiness;
  JsonGateway gateway;
  HttpApi api;

 private:
  static std::unique_ptr<storage::LeaseStore> Migrated(storage::Clock* clock) {
    auto store =
        std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, clock, nullptr);
    (void)store->Migrate(storage::MigrateMode::kAuto);
    return store;
  }
};

}  // namespace snowlease::service
