#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "service/metrics/call_metrics.h"
#include "service/metrics/grpc_metrics.h"
#include "service/metrics/namespace_metrics.h"
#include "service/metrics/process_collector.h"
#include "service/metrics/store_metrics.h"
#include "storage/clock.h"

namespace snowlease::service {

// The server's metrics, in Prometheus' text format; docs/operations.md lists them.
// Their number is bounded whatever clients send. Thread-safe.
class ServerMetrics {
 public:
  struct Options {
    std::string version;
    std::string backend;                  // label of store metrics
    std::vector<std::string> namespaces;  // those with a label of their own
  };
  // The clock must outlive it.
  ServerMetrics(Options options, storage::Clock* clock);

  CallMetrics& calls() { return calls_; }
  GrpcMetrics& grpc() { return grpc_; }
  StoreMetrics& store() { return store_; }
  NamespaceMetrics& namespaces() { return namespaces_; }
  const std::vector<std::string>& listed_namespaces() const { return options_.namespaces; }
  // Asked at every scrape; must not block. Empty: the queue is gone.
  void SetQueueDepth(std::function<size_t()> depth);
  // The same of the store's connections that are in use, of so many in all.
  void SetBusyConnections(std::function<int()> busy, int connections);
  // Seconds since 1970 at which the served certificate expires; asked at every scrape.
  // Without it, or empty, there is no such series.
  void SetCertificateExpiry(std::function<double()> expiry);

  // The scrape's answer. Never asks the store.
  std::string Serialize();
  // When it was last asked for; none: never.
  std::optional<storage::SteadyTime> last_scrape() const;

 private:
  const Options options_;
  storage::Clock* const clock_;
  prometheus::Registry registry_;
  ProcessCollector process_;
  CallMetrics calls_;
  GrpcMetrics grpc_;
  StoreMetrics store_;
  NamespaceMetrics namespaces_;
  prometheus::Gauge& queue_depth_;
  prometheus::Family<prometheus::Gauge>& connections_gauges_;

  mutable std::mutex mutex_;
  std::function<size_t()> depth_;
  std::function<int()> busy_;
  int connections_ = 0;
  std::function<double()> certificate_expiry_;
  prometheus::Gauge* certificate_expiry_gauge_ = nullptr;
  std::optional<storage::SteadyTime> last_scrape_;
};

}  // namespace snowlease::service
