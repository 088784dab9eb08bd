#include "service/metrics/call_metrics.h"

#include <algorithm>

namespace snowlease::service {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;
using prometheus::Registry;
using storage::LeaseSource;
using storage::Millis;
using storage::Reason;

using Buckets = Histogram::BucketBoundaries;

const Buckets& Waits() {
  static const Buckets buckets{0, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300};
  return buckets;
}
const Buckets& Offsets() {
  static const Buckets buckets{-60, -10, -1, -0.1, -0.01, 0, 0.01, 0.1, 1, 10, 60};
  return buckets;
}
const Buckets& Sizes() {
  static const Buckets buckets{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  return buckets;
}

constexpr const char* kKindNames[kCallKinds] = {"renew", "claim", "release", "raise"};
constexpr const char* kSourceNames[] = {"none", "own", "released", "new", "expired"};
// A holder renews after a fifth of its safe guard duration unless it is told to wait.
constexpr int kRenewalsPerSafeGuard = 5;

using MakeCounter = std::function<Counter&(size_t)>;

// Counters of a family by the one label `result`.
MakeCounter ByResult(Family<Counter>& family) {
  return [&family](size_t reason) -> Counter& {
    return family.Add({{"result", ResultName(reason)}});
  };
}

MakeCounter BySourceAndResult(Family<Counter>& family) {
  return [&family](size_t index) -> Counter& {
    return family.Add(
        {{"source", kSourceNames[index / kReasons]}, {"result", ResultName(index % kReasons)}});
  };
}

MakeCounter ByCause(Family<Counter>& family) {
  return [&family](size_t cause) -> Counter& {
    return family.Add({{"cause", storage::EndCauseName(static_cast<storage::EndCause>(cause))}});
  };
}

MakeCounter ByKindAndReason(Family<Counter>& family) {
  return [&family](size_t index) -> Counter& {
    return family.Add(
        {{"kind", kKindNames[index / kReasons]}, {"reason", ResultName(index % kReasons)}});
  };
}

}  // namespace

CallMetrics::CallMetrics(Registry& registry)
    : claims_(BySourceAndResult(
          Counters(registry, "snowlease_claims_total", "Claims that the store decided."))),
      renewals_(ByResult(
          Counters(registry, "snowlease_renewals_total", "Renewals that the store decided."))),
      releases_(ByResult(
          Counters(registry, "snowlease_releases_total", "Releases that the store decided."))),
      losses_(ByCause(Counters(registry, "snowlease_leases_lost_total",
                               "Renewals that were told that the lease is lost, by cause."))),
      rejections_(ByKindAndReason(Counters(registry, "snowlease_queue_rejections_total",
                                           "Calls refused before they reached the store."))),
      claim_duration_(OneHistogram(registry, "snowlease_claim_duration_seconds",
                                   "Claims, from arrival to the store's answer.", CallSeconds())),
      renew_duration_(OneHistogram(registry, "snowlease_renew_duration_seconds",
                                   "Renewals, from arrival to the store's answer.", CallSeconds())),
      release_duration_(OneHistogram(registry, "snowlease_release_duration_seconds",
                                     "Releases, from arrival to the store's answer.",
                                     CallSeconds())),
      renewal_lateness_(OneHistogram(registry, "snowlease_renewal_lateness_seconds",
                                     "Time since the renewal before, beyond a fifth of the safe "
                                     "guard duration.",
                                     Waits())),
      window_wait_(OneHistogram(registry, "snowlease_window_wait_seconds",
                                "How long a granted claim must wait for its clock to pass the "
                                "floor.",
                                Waits())),
      client_clock_offset_(OneHistogram(registry, "snowlease_client_clock_offset_seconds",
                                        "Client clock less store clock, at claims and renewals; "
                                        "the time on the way makes it smaller.",
                                        Offsets())),
      takeovers_(OneCounter(registry, "snowlease_takeovers_total",
                            "Expired leases whose machine id another instance took over.")),
      superseded_(OneCounter(registry, "snowlease_superseded_live_leases_total",
                             "Claims that ended a lease of the same instance id that was renewed "
                             "lately: two processes may share one identity.")),
      trust_clock_(OneCounter(registry, "snowlease_trust_clock_claims_total",
                              "Claims granted on the word of a clock, outside the promise.")),
      never_expiring_(OneCounter(registry, "snowlease_never_expiring_claims_total",
                                 "Claims granted a lease that never expires.")) {
  Family<Histogram>& sizes =
      Histograms(registry, "snowlease_batch_size", "Elements of the store's batches.");
  for (const char* kind : kKindNames) batch_sizes_.push_back(&sizes.Add({{"kind", kind}}, Sizes()));
  // Rates start at zero only for series that exist before their first event.
  for (size_t source = 1; source < kSources; ++source) claims_[source * kReasons];
  for (size_t cause = 1; cause < kCauses; ++cause) losses_[cause];
  renewals_[static_cast<size_t>(Reason::kNone)];
  renewals_[static_cast<size_t>(Reason::kMachineIdLost)];
  releases_[static_cast<size_t>(Reason::kNone)];
}

void CallMetrics::OnClaim(const storage::ClaimSpec& spec,
                          const absl::StatusOr<storage::Lease>& result,
                          std::chrono::nanoseconds total) {
  claim_duration_.Observe(Seconds(total));
  const LeaseSource source = result.ok() ? result->row.source : LeaseSource::kNone;
  claims_[static_cast<size_t>(source) * kReasons + ResultIndex(result.status())].Increment();
  if (!result.ok()) return;
  if (source == LeaseSource::kExpired) takeovers_.Increment();
  if (result->superseded_live_lease) superseded_.Increment();
  if (result->clock_trusted) trust_clock_.Increment();
  if (spec.safe_guard.count() == 0) never_expiring_.Increment();
  const storage::ClientTime client_now = spec.client_time + spec.waited;
  window_wait_.Observe(Seconds(std::max(result->row.floor - client_now, Millis(0))));
  ObserveClientClock(client_now, result->store_time);
}

void CallMetrics::OnRenew(const storage::RenewSpec& spec,
                          const absl::StatusOr<storage::Lease>& result,
                          std::chrono::nanoseconds total) {
  renew_duration_.Observe(Seconds(total));
  if (!result.ok()) {
    renewals_[ResultIndex(result.status())].Increment();
    if (storage::ReasonOf(result.status()) == Reason::kMachineIdLost) {
      losses_[static_cast<size_t>(storage::LossCauseOf(result.status()))].Increment();
    }
    return;
  }
  renewals_[0].Increment();
  ObserveClientClock(spec.client_time, result->store_time);
  const Millis safe_guard = result->row.safe_guard;
  if (result->since_renewal && safe_guard.count() > 0) {
    const Millis late = *result->since_renewal - safe_guard / kRenewalsPerSafeGuard;
    renewal_lateness_.Observe(Seconds(std::max(late, Millis(0))));
  }
}

void CallMetrics::OnRelease(const storage::ReleaseSpec& /*spec*/, const absl::Status& result,
                            std::chrono::nanoseconds total) {
  release_duration_.Observe(Seconds(total));
  releases_[ResultIndex(result)].Increment();
}

void CallMetrics::ObserveClientClock(storage::ClientTime client, storage::StoreTime store) {
  client_clock_offset_.Observe(Seconds(Millis(client.ms - store.ms)));
}

void CallMetrics::OnBatch(CallKind kind, size_t size) {
  batch_sizes_[static_cast<size_t>(kind)]->Observe(static_cast<double>(size));
}

void CallMetrics::OnRejected(CallKind kind, const absl::Status& status) {
  rejections_[static_cast<size_t>(kind) * kReasons + ResultIndex(status)].Increment();
}

}  // namespace snowlease::service
