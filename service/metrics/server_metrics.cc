#include "service/metrics/server_metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace snowlease::service {

ServerMetrics::ServerMetrics(Options options, storage::Clock* clock)
    : options_(std::move(options)),
      clock_(clock),
      calls_(registry_),
      grpc_(registry_),
      store_(registry_, options_.backend),
      namespaces_(registry_, options_.namespaces),
      queue_depth_(OneGauge(registry_, "snowlease_queue_depth", "Calls that wait for the store.")),
      connections_gauges_(Gauges(registry_, "snowlease_store_connections",
                                 "Connections for batches by state, busy or idle.")) {
  Gauges(registry_, "snowlease_build_info", "1, with the version of the server.")
      .Add({{"version", options_.version}}, 1.0);
}

void ServerMetrics::SetQueueDepth(std::function<size_t()> depth) {
  const std::lock_guard lock(mutex_);
  depth_ = std::move(depth);
}

void ServerMetrics::SetBusyConnections(std::function<int()> busy, int connections) {
  const std::lock_guard lock(mutex_);
  busy_ = std::move(busy);
  connections_ = connections;
}

void ServerMetrics::SetCertificateExpiry(std::function<double()> expiry) {
  const std::lock_guard lock(mutex_);
  certificate_expiry_ = std::move(expiry);
  if (!certificate_expiry_ || certificate_expiry_gauge_ != nullptr) return;
  certificate_expiry_gauge_ =
      &OneGauge(registry_, "snowlease_tls_certificate_expiry_timestamp_seconds",
                "When the certificate of the gRPC port expires, seconds since 1970.");
}

std::string ServerMetrics::Serialize() {
  {
    const std::lock_guard lock(mutex_);
    last_scrape_ = clock_->SteadyNow();
    if (busy_) {
      // A batch may wait for another to give its connection back.
      const int busy = std::min(busy_(), connections_);
      connections_gauges_.Add({{"state", "busy"}}).Set(busy);
      connections_gauges_.Add({{"state", "idle"}}).Set(connections_ - busy);
    }
    if (certificate_expiry_) certificate_expiry_gauge_->Set(certificate_expiry_());
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
