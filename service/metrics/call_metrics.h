#pragma once

#include <vector>

#include "service/batching/commit_observer.h"
#include "service/metrics/metric_families.h"
#include "storage/lease.h"

namespace snowlease::service {

// Claims, renewals, releases, and how they wait. Thread-safe; no look-ups and no
// allocation for what succeeds.
class CallMetrics final : public CommitObserver {
 public:
  // The registry must outlive it.
  explicit CallMetrics(prometheus::Registry& registry);

  void OnClaim(const storage::ClaimSpec& spec, const absl::StatusOr<storage::Lease>& result,
               std::chrono::nanoseconds total) override;
  void OnRenew(const storage::RenewSpec& spec, const absl::StatusOr<storage::Lease>& result,
               std::chrono::nanoseconds total) override;
  void OnRelease(const storage::ReleaseSpec& spec, const absl::Status& result,
                 std::chrono::nanoseconds total) override;
  void OnBatch(CallKind kind, size_t size) override;
  void OnRejected(CallKind kind, const absl::Status& status) override;

 private:
  static constexpr size_t kCauses = static_cast<size_t>(storage::EndCause::kUnknown) + 1;
  static constexpr size_t kSources = static_cast<size_t>(storage::LeaseSource::kExpired) + 1;

  void ObserveClientClock(storage::ClientTime client, storage::StoreTime store);

  LazyMetrics<prometheus::Counter, kSources * kReasons> claims_;
  LazyMetrics<prometheus::Counter, kReasons> renewals_;
  LazyMetrics<prometheus::Counter, kReasons> releases_;
  LazyMetrics<prometheus::Counter, kCauses> losses_;
  LazyMetrics<prometheus::Counter, kCallKinds * kReasons> rejections_;
  prometheus::Histogram& claim_duration_;
  prometheus::Histogram& renew_duration_;
  prometheus::Histogram& release_duration_;
  prometheus::Histogram& renewal_lateness_;
  prometheus::Histogram& window_wait_;
  prometheus::Histogram& client_clock_offset_;
  std::vector<prometheus::Histogram*> batch_sizes_;  // by CallKind
  prometheus::Counter& takeovers_;
  prometheus::Counter& superseded_;
  prometheus::Counter& trust_clock_;
  prometheus::Counter& never_expiring_;
};

}  // namespace snowlease::service
