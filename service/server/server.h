#pragma once

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "service/config/values.h"
#include "service/health/readiness.h"
#include "service/health/store_monitor.h"
#include "service/http/http_server.h"
#include "service/rpc/grpc_server.h"
#include "service/server/environment.h"
#include "service/server/namespace_census.h"
#include "service/tls/certificate_files.h"

namespace snowlease::service {

// The ports over an environment, and their common life: start, readiness, drain.
class Server {
 public:
  // Serves when it returns. Errors: INVALID_ARGUMENT (grpc.listen, http.listen) when a
  // port cannot be had; nothing is left listening then. The environment must outlive
  // the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Environment* environment);
  // As Drain, without waiting for anybody.
  ~Server();

  const ListenAddress& grpc_address() const { return grpc_address_; }
  // None when HTTP is not enabled.
  std::optional<ListenAddress> http_address() const;
  bool ready() const { return readiness_.ready(); }

  // Tells the world NOT_SERVING, waits drain.delay, accepts no more, and finishes what
  // was accepted within drain.timeout. Blocks. Idempotent.
  void Drain();

 private:
  explicit Server(Environment* environment);
  absl::Status OpenCertificates();
  absl::Status StartPorts();
  void StartMonitor();
  StoreMonitor::Options MonitorOptions() const;
  void OnLook(const StoreObservation& seen);
  void Stop(storage::SteadyTime deadline);

  Environment* const environment_;
  Readiness readiness_;
  JsonGateway gateway_;
  HttpApi http_api_;
  NamespaceCensus census_;
  ListenAddress grpc_address_;
  std::unique_ptr<CertificateFiles> certificates_;  // null: plaintext
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<StoreMonitor> monitor_;
  bool drained_ = false;
};

}  // namespace snowlease::service
