#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/status/statusor.h"
#include "snowlease/client.h"
#include "snowlease/v1/admin.grpc.pb.h"
#include "snowlease/v1/machine_id.grpc.pb.h"

namespace snowlease::client {

// One server address (or one name for several) and what is needed to call it.
struct Endpoint {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::MachineIdService::Stub> machine_ids;
  std::unique_ptr<v1::AdminService::Stub> admin;
};

// The endpoints of a client. Thread-safe.
class EndpointPool {
 public:
  // INVALID_ARGUMENT names the endpoint that is none.
  static absl::StatusOr<std::shared_ptr<EndpointPool>> Create(const ClientOptions& options);

  // Takes turns, leaving out those known to be unreachable while there are others.
  Endpoint& Next();

 private:
  EndpointPool() = default;

  std::vector<Endpoint> endpoints_;
  std::atomic<size_t> turn_{0};
};

}  // namespace snowlease::client
