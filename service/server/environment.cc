#include "service/server/environment.h"

#include <utility>

#include "service/server/timeout_lease_store.h"
#include "service/server/version.h"
#include "storage/decorators/deadline_lease_store.h"
#include "storage/decorators/metered_lease_store.h"
#include "storage/store_factory.h"

namespace snowlease::service {
namespace {

// Reads and operators' calls run on these, apart from the committer's.
constexpr int kExecutorThreads = 4;
constexpr size_t kExecutorQueue = 256;

GroupCommitterOptions CommitterOptions(const Config& config) {
  GroupCommitterOptions options;
  options.max_batch = static_cast<size_t>(config.batching.max_batch);
  options.max_queue = static_cast<size_t>(config.batching.max_queue);
  options.max_queue_age = config.batching.max_queue_age;
  return options;
}

HandlerOptions MachineIdOptions(const Config& config) {
  HandlerOptions options;
  options.namespace_creation.allowed = !config.namespaces.create.empty();
  options.namespace_creation.patterns = config.namespaces.create;
  options.full_queue = static_cast<size_t>(config.batching.max_queue);
  return options;
}

std::unique_ptr<TimeoutLeaseStore> Decorated(std::unique_ptr<storage::LeaseStore> store,
                                             StoreMetrics* metrics, storage::Clock* clock,
                                             storage::Millis timeout) {
  auto metered = std::make_unique<storage::MeteredLeaseStore>(std::move(store), metrics, clock);
  auto timely = std::make_unique<storage::DeadlineLeaseStore>(std::move(metered), clock);
  return std::make_unique<TimeoutLeaseStore>(std::move(timely), clock, timeout);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> Environment::Open(const Config& config,
                                                               storage::Clock* clock) {
  auto store = storage::OpenStore(config.StoreUrl(), config.StoreOptions(), clock);
  if (!store.ok()) return store.status();
  const absl::Status migrated = (*store)->Migrate(config.store.migrate);
  if (!migrated.ok()) return migrated;
  return std::make_unique<Environment>(config, clock, *std::move(store));
}

Environment::Environment(const Config& config, storage::Clock* clock,
                         std::unique_ptr<storage::LeaseStore> store)
    : config_(config),
      clock_(clock),
      metrics_({kVersion, store->GetCapabilities().backend, config.metrics.namespaces}, clock),
      store_(Decorated(std::move(store), &metrics_.store(), clock, config.store.timeout)),
      committer_(store_.get(), clock, CommitterOptions(config), &metrics_.calls()),
      executor_(kExecutorThreads, kExecutorQueue),
      machine_ids_(&committer_, store_.get(), &executor_, clock, MachineIdOptions(config)),
      admin_(store_.get(), clock, {config.admin.enabled}) {
  metrics_.SetQueueDepth([this] { return committer_.QueueDepth(); });
  metrics_.SetBusyConnections([this] { return store_->busy(); },
                              store_->GetCapabilities().connections);
}

}  // namespace snowlease::service
