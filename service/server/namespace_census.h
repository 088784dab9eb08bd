#pragma once

#include <optional>

#include "service/metrics/server_metrics.h"
#include "storage/clock.h"
#include "storage/lease_store.h"

namespace snowlease::service {

// Counts the namespaces for the metrics, apart from scrapes: at most every ten
// seconds, and only while somebody scrapes. Not thread-safe.
class NamespaceCensus {
 public:
  NamespaceCensus(storage::LeaseStore* store, ServerMetrics* metrics)
      : store_(store), metrics_(metrics) {}

  // Counts if it is time to; true when the metrics were refreshed. Blocks on the store.
  bool Refresh(storage::SteadyTime now);

 private:
  bool IsDue(storage::SteadyTime now) const;

  storage::LeaseStore* const store_;
  ServerMetrics* const metrics_;
  std::optional<storage::SteadyTime> last_;
};

}  // namespace snowlease::service
