#include "service/metrics/server_metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace snowlease::service {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;
using storage::LeaseSource;
using storage::Reason;

using Buckets = Histogram::BucketBoundaries;

const Buckets kSeconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                       0.1,    0.25,  0.5,    1,     2.5,  5,     10};
const Buckets kWaits{0, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300};
const Buckets kOffsets{-60, -10, -1, -0.1, -0.01, 0, 0.01, 0.1, 1, 10, 60};
const Buckets kSizes{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

constexpr const char* kKindNames[kCallKinds] = {"renew", "claim", "release", "raise"};
constexpr const char* kSourceNames[] = {"none", "own", "released", "new", "expired"};
constexpr const char* kOther = "other";

// The store's operations; whatever is not among them is counted as the last one.
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

Family<Counter>& Counters(Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Gauge>& Gauges(Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}
Family<Histogram>& Histograms(Registry& registry, const char* name, const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

std::string ResultName(size_t reason) { return storage::ReasonName(static_cast<Reason>(reason)); }

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}
double Seconds(storage::Millis duration) { return std::chrono::duration<double>(duration).count(); }

size_t IndexOf(const absl::Status& status) {
  return status.ok() ? 0 : static_cast<size_t>(storage::ReasonOf(status));
}

// Makes counters of a family with the one label `result`.
std::function<Counter&(size_t)> ByResult(Family<Counter>& family) {
  return [&family](size_t reason) -> Counter& {
    return family.Add({{"result", ResultName(reason)}});
  };
}

}  // namespace

ServerMetrics::ServerMetrics(Options options, storage::Clock* clock)
    : options_(std::move(options)),
      clock_(clock),
      claims_([&family = Counters(registry_, "snowlease_claims_total",
                                  "Claims that the store decided.")](size_t i) -> Counter& {
        return family.Add(
            {{"source", kSourceNames[i / kReasons]}, {"result", ResultName(i % kReasons)}});
      }),
      renewals_(ByResult(
          Counters(registry_, "snowlease_renewals_total", "Renewals that the store decided."))),
      releases_(ByResult(
          Counters(registry_, "snowlease_releases_total", "Releases that the store decided."))),
      losses_([&family = Counters(registry_, "snowlease_leases_lost_total",
                                  "Renewals that were told that the lease is lost, by cause.")](
                  size_t cause) -> Counter& {
        return family.Add(
            {{"cause", storage::EndCauseName(static_cast<storage::EndCause>(cause))}});
      }),
      rejections_([&family = Counters(registry_, "snowlease_queue_rejections_total",
                                      "Calls refused before they reached the store.")](
                      size_t i) -> Counter& {
        return family.Add(
            {{"kind", kKindNames[i / kReasons]}, {"reason", ResultName(i % kReasons)}});
      }),
      operations_([this, &family = Histograms(
                             registry_, "snowlease_store_operation_duration_seconds",
                             "Calls of the store, batches as one call.")](size_t i) -> Histogram& {
        return family.Add({{"backend", options_.backend},
                           {"operation", std::string(kOperationNames[i / kReasons])},
                           {"result", ResultName(i % kReasons)}},
                          kSeconds);
      }),
      claim_duration_(Histograms(registry_, "snowlease_claim_duration_seconds",
                                 "Claims, from arrival to the store's answer.")
                          .Add({}, kSeconds)),
      renew_duration_(Histograms(registry_, "snowlease_renew_duration_seconds",
                                 "Renewals, from arrival to the store's answer.")
                          .Add({}, kSeconds)),
      release_duration_(Histograms(registry_, "snowlease_release_duration_seconds",
                                   "Releases, from arrival to the store's answer.")
                            .Add({}, kSeconds)),
      window_wait_(Histograms(registry_, "snowlease_window_wait_seconds",
                              "How long a granted claim must wait for its clock to pass the floor.")
                       .Add({}, kWaits)),
      client_clock_offset_(
          Histograms(registry_, "snowlease_client_clock_offset_seconds",
                     "Client clock less store clock when the store decided a claim or renewal; the "
                     "time on the way makes it smaller.")
              .Add({}, kOffsets)),
      takeovers_(Counters(registry_, "snowlease_takeovers_total",
                          "Expired leases whose machine id another instance took over.")
                     .Add({})),
      superseded_(Counters(registry_, "snowlease_superseded_live_leases_total",
                           "Claims that ended a lease of the same instance id that was renewed "
                           "lately: two processes may share one identity.")
                      .Add({})),
      trust_clock_(Counters(registry_, "snowlease_trust_clock_claims_total",
                            "Claims granted on the word of a clock, outside the promise.")
                       .Add({})),
      never_expiring_(Counters(registry_, "snowlease_never_expiring_claims_total",
                               "Claims granted a lease that never expires.")
                          .Add({})),
      queue_depth_(
          Gauges(registry_, "snowlease_queue_depth", "Calls that wait for the store.").Add({})),
      store_clock_offset_(Gauges(registry_, "snowlease_store_clock_offset_seconds",
                                 "Store clock less the clock of the server's host.")
                              .Add({})),
      takeovers_paused_(Gauges(registry_, "snowlease_takeovers_paused",
                               "1 while the clocks differ so much that expired leases are not "
                               "taken over, else 0.")
                            .Add({})),
      store_up_(
          Gauges(registry_, "snowlease_store_up", "1 while the store answers, else 0.").Add({})),
      schema_version_(
          Gauges(registry_, "snowlease_schema_version", "Version of the store's schema.").Add({})),
      namespaces_(Gauges(registry_, "snowlease_namespaces", "Namespaces in the store.").Add({})),
      fullest_(Gauges(registry_, "snowlease_namespace_fullness_max_ratio",
                      "Held, kept and reserved machine ids of the fullest namespace, of its "
                      "capacity, 0 to 1.")
                   .Add({})) {
  Gauges(registry_, "snowlease_build_info", "1, with the version of the server.")
      .Add({{"version", options_.version}}, 1.0);
  Family<Histogram>& sizes =
      Histograms(registry_, "snowlease_batch_size", "Elements of the store's batches.");
  for (const char* kind : kKindNames) batch_sizes_.push_back(&sizes.Add({{"kind", kind}}, kSizes));
  CreateNamespaceGauges();
  // Rates start at zero only for series that exist before their first event.
  for (size_t source = 1; source < kSources; ++source) claims_[source * kReasons];
  for (const Reason reason : {Reason::kNone, Reason::kMachineIdLost}) {
    renewals_[static_cast<size_t>(reason)];
  }
  releases_[0];
  for (size_t cause = 1; cause < kCauses; ++cause) losses_[cause];
}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::CreateNamespaceGauges() {
  Family<Gauge>& capacity = Gauges(registry_, "snowlease_namespace_capacity",
                                   "Machine ids of the namespace; \"other\": of all not listed.");
  Family<Gauge>& leases =
      Gauges(registry_, "snowlease_namespace_leases", "Machine ids of the namespace by state.");
  Family<Gauge>& total = Gauges(registry_, "snowlease_leases", "Machine ids by state.");
  std::vector<std::string> names = options_.namespaces;
  names.emplace_back(kOther);
  for (const std::string& name : names) {
    const auto gauge = [&](const char* state) {
      return &leases.Add({{"namespace", name}, {"state", state}});
    };
    by_namespace_.push_back({&capacity.Add({{"namespace", name}}), gauge("held"), gauge("kept"),
                             gauge("free"), gauge("reserved")});
  }
  const auto gauge = [&](const char* state) { return &total.Add({{"state", state}}); };
  all_ = {nullptr, gauge("held"), gauge("kept"), gauge("free"), gauge("reserved")};
}

void ServerMetrics::OnClaim(const storage::ClaimSpec& spec,
                            const absl::StatusOr<storage::Lease>& result,
                            std::chrono::nanoseconds total) {
  claim_duration_.Observe(Seconds(total));
  const LeaseSource source = result.ok() ? result->row.source : LeaseSource::kNone;
  claims_[static_cast<size_t>(source) * kReasons + IndexOf(result.status())].Increment();
  if (!result.ok()) return;
  if (source == LeaseSource::kExpired) takeovers_.Increment();
  if (result->superseded_live_lease) superseded_.Increment();
  if (result->clock_trusted) trust_clock_.Increment();
  if (spec.safe_guard.count() == 0) never_expiring_.Increment();
  const storage::Millis wait = result->row.floor - (spec.client_time + spec.waited);
  window_wait_.Observe(Seconds(std::max(wait, storage::Millis(0))));
  ObserveClientClock(spec.client_time + spec.waited, result->store_time);
}

void ServerMetrics::OnRenew(const storage::RenewSpec& spec,
                            const absl::StatusOr<storage::Lease>& result,
                            std::chrono::nanoseconds total) {
  renew_duration_.Observe(Seconds(total));
  if (result.ok()) {
    renewals_[0].Increment();
    ObserveClientClock(spec.client_time, result->store_time);
    return;
  }
  const Reason reason = storage::ReasonOf(result.status());
  renewals_[static_cast<size_t>(reason)].Increment();
  if (reason == Reason::kMachineIdLost) {
    losses_[static_cast<size_t>(storage::LossCauseOf(result.status()))].Increment();
  }
}

void ServerMetrics::OnRelease(const storage::ReleaseSpec& /*spec*/, const absl::Status& result,
                              std::chrono::nanoseconds total) {
  release_duration_.Observe(Seconds(total));
  releases_[IndexOf(result)].Increment();
}

void ServerMetrics::ObserveClientClock(storage::ClientTime client, storage::StoreTime store) {
  client_clock_offset_.Observe(static_cast<double>(client.ms - store.ms) / 1000);
}

void ServerMetrics::OnBatch(CallKind kind, size_t size) {
  batch_sizes_[static_cast<size_t>(kind)]->Observe(static_cast<double>(size));
}

void ServerMetrics::OnRejected(CallKind kind, const absl::Status& status) {
  rejections_[static_cast<size_t>(kind) * kReasons + IndexOf(status)].Increment();
}

void ServerMetrics::OnOperation(std::string_view operation, Reason result,
                                std::chrono::nanoseconds duration, size_t /*elements*/) {
  const size_t index = OperationIndex(operation) * kReasons + static_cast<size_t>(result);
  operations_[index].Observe(Seconds(duration));
}

void ServerMetrics::SetQueueDepth(std::function<size_t()> depth) {
  const std::lock_guard lock(mutex_);
  depth_ = std::move(depth);
}

void ServerMetrics::SetStoreClock(storage::Millis ahead, bool takeovers_paused) {
  store_clock_offset_.Set(Seconds(ahead));
  takeovers_paused_.Set(takeovers_paused ? 1 : 0);
}

void ServerMetrics::SetStoreUp(bool up) { store_up_.Set(up ? 1 : 0); }

void ServerMetrics::SetSchemaVersion(int version) { schema_version_.Set(version); }

void ServerMetrics::SetNamespaces(const NamespaceTotals& totals) {
  const auto set = [](const NamespaceGauges& gauges, const NamespaceTotals::Sums& sums) {
    if (gauges.capacity != nullptr) gauges.capacity->Set(static_cast<double>(sums.capacity));
    gauges.held->Set(static_cast<double>(sums.counts.held));
    gauges.kept->Set(static_cast<double>(sums.counts.kept));
    gauges.free->Set(static_cast<double>(sums.counts.free));
    gauges.reserved->Set(static_cast<double>(sums.counts.reserved));
  };
  for (size_t i = 0; i + 1 < by_namespace_.size(); ++i) set(by_namespace_[i], totals.Listed(i));
  set(by_namespace_.back(), totals.Other());
  set(all_, totals.All());
  namespaces_.Set(static_cast<double>(totals.namespaces()));
  fullest_.Set(totals.fullest());
}

std::string ServerMetrics::Serialize() {
  {
    const std::lock_guard lock(mutex_);
    last_scrape_ = clock_->SteadyNow();
    if (depth_) queue_depth_.Set(static_cast<double>(depth_()));
  }
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  std::vector<prometheus::MetricFamily> process = process_.Collect();
  std::move(process.begin(), process.end(), std::back_inserter(families));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

std::optional<storage::SteadyTime> ServerMetrics::last_scrape() const {
  const std::lock_guard lock(mutex_);
  return last_scrape_;
}

}  // namespace snowlease::service
