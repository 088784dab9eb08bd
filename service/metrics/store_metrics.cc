#include "service/metrics/store_metrics.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace snowlease::service {
namespace {

using prometheus::Histogram;

// The store's operations; whatever is not among them is counted as the last one, so
// that the label stays bounded.
constexpr std::string_view kOperationNames[] = {"claim",
                                                "renew",
                                                "release",
                                                "raise_watermark",
                                                "get_watermark",
                                                "list_leases",
                                                "get_lease",
                                                "list_namespaces",
                                                "get_namespace",
                                                "find_owner",
                                                "list_audit",
                                                "force_release",
                                                "update_namespace",
                                                "delete_namespace",
                                                "reserve_ids",
                                                "unreserve_ids",
                                                "migrate",
                                                "ping",
                                                "other"};

size_t OperationIndex(std::string_view operation) {
  const auto* found =
      std::find(std::begin(kOperationNames), std::end(kOperationNames) - 1, operation);
  return static_cast<size_t>(found - std::begin(kOperationNames));
}

}  // namespace

StoreMetrics::StoreMetrics(prometheus::Registry& registry, std::string backend)
    : operations_([backend = std::move(backend),
                   &family = Histograms(registry, "snowlease_store_operation_duration_seconds",
                                        "Calls of the store, a batch as one.")](
                      size_t index) -> Histogram& {
        return family.Add({{"backend", backend},
                           {"operation", std::string(kOperationNames[index / kReasons])},
                           {"result", ResultName(index % kReasons)}},
                          CallSeconds());
      }),
      clock_offset_(OneGauge(registry, "snowlease_store_clock_offset_seconds",
                             "Store clock less the clock of the server's host.")),
      takeovers_paused_(OneGauge(registry, "snowlease_takeovers_paused",
                                 "1 while the clocks differ so much that expired leases are not "
                                 "taken over, else 0.")),
      up_(OneGauge(registry, "snowlease_store_up", "1 while the store answers, else 0.")),
      schema_version_(
          OneGauge(registry, "snowlease_schema_version", "Version of the store's schema.")) {
  static_assert(std::size(kOperationNames) == kOperations);
}

void StoreMetrics::OnOperation(std::string_view operation, storage::Reason result,
                               std::chrono::nanoseconds duration, size_t /*elements*/) {
  operations_[OperationIndex(operation) * kReasons + static_cast<size_t>(result)].Observe(
      Seconds(duration));
}

void StoreMetrics::SetClock(storage::Millis ahead, bool takeovers_paused) {
  clock_offset_.Set(Seconds(ahead));
  takeovers_paused_.Set(takeovers_paused ? 1 : 0);
}

}  // namespace snowlease::service
