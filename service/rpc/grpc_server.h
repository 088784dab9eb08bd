#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "service/batching/blocking_executor.h"
#include "service/metrics/grpc_metrics.h"
#include "service/rpc/admin_handler.h"
#include "service/rpc/machine_id_handler.h"
#include "storage/clock.h"

namespace snowlease::service {

struct GrpcServerOptions {
  std::string listen = "127.0.0.1:7070";  // port 0: any free one
  // Null: plaintext.
  std::shared_ptr<grpc::ServerCredentials> credentials;

  // Clients may ping this often, also when idle, without being sent away.
  storage::Millis min_client_ping_interval{10'000};
  int max_ping_strikes = 4;
  // The server's own pings to silent clients, and how long it waits for the answer.
  storage::Millis keepalive_time{60'000};
  storage::Millis keepalive_timeout{20'000};
  // A connection is told to go after this time (gRPC spreads it by 10 %), and is cut
  // off after the grace. KeepAlive streams end by themselves within the grace.
  storage::Millis max_connection_age{30 * 60'000};
  storage::Millis max_connection_age_grace{5 * 60'000};

  storage::Millis default_deadline{10'000};  // of calls that bring none
  int max_message_bytes = 64 * 1024;
  int max_concurrent_streams = 10'000;  // calls in flight per connection
  // Renewals of one KeepAlive stream read but not answered; then it reads no more.
  int max_unanswered_renewals = 4096;
  size_t memory_quota_bytes = 256u << 20;  // of gRPC's buffers
  bool reflection = true;
  bool channelz = false;
  std::string version{};           // told to operators' clients; empty: not
  GrpcMetrics* metrics = nullptr;  // counts calls; must outlive the server
};

// Serves MachineIdService, AdminService, grpc.health.v1 and reflection on one port.
// Thread-safe. What it was started with must outlive it, and the committer must still
// run: it answers the calls that Shutdown waits for.
class GrpcServer {
 public:
  // Errors: INVALID_ARGUMENT (field grpc.listen) when the address cannot be bound.
  // Health is NOT_SERVING until SetServing(true).
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           MachineIdHandler* machine_ids,
                                                           AdminHandler* admin,
                                                           BlockingExecutor* executor,
                                                           storage::Clock* clock);
  // As Shutdown without time to wait.
  ~GrpcServer();

  int port() const;
  // Health of "" and of each service name.
  void SetServing(bool serving);
  // Tells clients to go, answers what was read from KeepAlive streams and half-closes
  // them, finishes calls in flight, and cancels those left at the deadline. Idempotent.
  void Shutdown(storage::SteadyTime deadline);

 private:
  struct Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace snowlease::service
