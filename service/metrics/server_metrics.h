#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "service/batching/commit_observer.h"
#include "service/metrics/lazy_metrics.h"
#include "service/metrics/namespace_totals.h"
#include "service/metrics/process_collector.h"
#include "storage/clock.h"
#include "storage/decorators/metered_lease_store.h"
#include "storage/errors.h"

namespace snowlease::service {

// The server's metrics, in Prometheus' text format; docs/operations.md lists them.
// Their number is bounded whatever clients send. Thread-safe. Observing a renewal
// costs well under a microsecond and takes no look-up.
class ServerMetrics final : public CommitObserver, public storage::StoreObserver {
 public:
  struct Options {
    std::string version;
    std::string backend;                  // label of store metrics
    std::vector<std::string> namespaces;  // those with a label of their own
  };
  ServerMetrics(Options options, storage::Clock* clock);
  ~ServerMetrics() override;

  void OnClaim(const storage::ClaimSpec& spec, const absl::StatusOr<storage::Lease>& result,
               std::chrono::nanoseconds total) override;
  void OnRenew(const storage::RenewSpec& spec, const absl::StatusOr<storage::Lease>& result,
               std::chrono::nanoseconds total) override;
  void OnRelease(const storage::ReleaseSpec& spec, const absl::Status& result,
                 std::chrono::nanoseconds total) override;
  void OnBatch(CallKind kind, size_t size) override;
  void OnRejected(CallKind kind, const absl::Status& status) override;

  void OnOperation(std::string_view operation, storage::Reason result,
                   std::chrono::nanoseconds duration, size_t elements) override;

  // Asked at every scrape; must not block and must live until it is replaced.
  void SetQueueDepth(std::function<size_t()> depth);
  void SetStoreClock(storage::Millis ahead, bool takeovers_paused);
  void SetStoreUp(bool up);
  void SetSchemaVersion(int version);
  void SetNamespaces(const NamespaceTotals& totals);
  const std::vector<std::string>& namespaces() const { return options_.namespaces; }

  // The scrape's answer. Never asks the store.
  std::string Serialize();
  // When it was last asked for; none: never.
  std::optional<storage::SteadyTime> last_scrape() const;

 private:
  static constexpr size_t kReasons = static_cast<size_t>(storage::Reason::kInternal) + 1;
  static constexpr size_t kCauses = static_cast<size_t>(storage::EndCause::kUnknown) + 1;
  static constexpr size_t kSources = static_cast<size_t>(storage::LeaseSource::kExpired) + 1;
  static constexpr size_t kOperations = 19;

  void CreateNamespaceGauges();
  void ObserveClientClock(storage::ClientTime client, storage::StoreTime store);

  struct NamespaceGauges {
    prometheus::Gauge* capacity;
    prometheus::Gauge* held;
    prometheus::Gauge* kept;
    prometheus::Gauge* free;
    prometheus::Gauge* reserved;
  };

  const Options options_;
  storage::Clock* const clock_;
  prometheus::Registry registry_;
  ProcessCollector process_;

  LazyMetrics<prometheus::Counter, kSources * kReasons> claims_;
  LazyMetrics<prometheus::Counter, kReasons> renewals_;
  LazyMetrics<prometheus::Counter, kReasons> releases_;
  LazyMetrics<prometheus::Counter, kCauses> losses_;
  LazyMetrics<prometheus::Counter, kCallKinds * kReasons> rejections_;
  LazyMetrics<prometheus::Histogram, kOperations * kReasons> operations_;
  prometheus::Histogram& claim_duration_;
  prometheus::Histogram& renew_duration_;
  prometheus::Histogram& release_duration_;
  prometheus::Histogram& window_wait_;
  prometheus::Histogram& client_clock_offset_;
  std::vector<prometheus::Histogram*> batch_sizes_;  // by CallKind
  prometheus::Counter& takeovers_;
  prometheus::Counter& superseded_;
  prometheus::Counter& trust_clock_;
  prometheus::Counter& never_expiring_;

  prometheus::Gauge& queue_depth_;
  prometheus::Gauge& store_clock_offset_;
  prometheus::Gauge& takeovers_paused_;
  prometheus::Gauge& store_up_;
  prometheus::Gauge& schema_version_;
  prometheus::Gauge& namespaces_;
  prometheus::Gauge& fullest_;
  std::vector<NamespaceGauges> by_namespace_;  // listed ones, then the others
  NamespaceGauges all_;

  mutable std::mutex mutex_;
  std::function<size_t()> depth_;
  std::optional<storage::SteadyTime> last_scrape_;
};

}  // namespace snowlease::service
