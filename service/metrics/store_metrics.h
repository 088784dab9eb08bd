#pragma once

#include <string>

#include "service/metrics/metric_families.h"
#include "storage/decorators/metered_lease_store.h"

namespace snowlease::service {

// Calls of the store, and how it is. Thread-safe.
class StoreMetrics final : public storage::StoreObserver {
 public:
  // The registry must outlive it.
  StoreMetrics(prometheus::Registry& registry, std::string backend);

  void OnOperation(std::string_view operation, storage::Reason result,
                   std::chrono::nanoseconds duration, size_t elements) override;
  void SetClock(storage::Millis ahead, bool takeovers_paused);
  void SetUp(bool up) { up_.Set(up ? 1 : 0); }
  void SetSchemaVersion(int version) { schema_version_.Set(version); }

 private:
  static constexpr size_t kOperations = 19;

  LazyMetrics<prometheus::Histogram, kOperations * kReasons> operations_;
  prometheus::Gauge& clock_offset_;
  prometheus::Gauge& takeovers_paused_;
  prometheus::Gauge& up_;
  prometheus::Gauge& schema_version_;
};

}  // namespace snowlease::service
