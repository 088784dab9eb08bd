#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "service/batching/blocking_executor.h"
#include "service/batching/group_committer.h"
#include "service/config/config.h"
#include "service/metrics/server_metrics.h"
#include "service/rpc/admin_handler.h"
#include "service/rpc/machine_id_handler.h"
#include "service/server/timeout_lease_store.h"
#include "storage/clock.h"
#include "storage/lease_store.h"

namespace snowlease::service {

// Everything behind the ports: the store with its decorators, metrics, the committer
// and the handlers. Ends in the opposite order: the store is closed last.
class Environment {
 public:
  // Opens the store that the config names and migrates it as it says. Errors:
  // INVALID_ARGUMENT, STORE_UNAVAILABLE; their text tells what to do. The clock must
  // outlive the environment.
  static absl::StatusOr<std::unique_ptr<Environment>> Open(const Config& config,
                                                           storage::Clock* clock);
  // The same over a store that is open and migrated.
  Environment(const Config& config, storage::Clock* clock,
              std::unique_ptr<storage::LeaseStore> store);

  const Config& config() const { return config_; }
  storage::Clock* clock() { return clock_; }
  storage::LeaseStore* store() { return store_.get(); }
  ServerMetrics* metrics() { return &metrics_; }
  BlockingExecutor* executor() { return &executor_; }
  GroupCommitter* committer() { return &committer_; }
  MachineIdHandler* machine_ids() { return &machine_ids_; }
  AdminHandler* admin() { return &admin_; }

 private:
  const Config config_;
  storage::Clock* const clock_;
  ServerMetrics metrics_;
  const std::unique_ptr<TimeoutLeaseStore> store_;
  GroupCommitter committer_;
  BlockingExecutor executor_;
  MachineIdHandler machine_ids_;
  AdminHandler admin_;
};

}  // namespace snowlease::service
