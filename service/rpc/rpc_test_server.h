#pragma once

#include <memory>
#include <optional>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "service/batching/blocking_executor.h"
#include "service/batching/group_committer.h"
#include "service/rpc/admin_handler.h"
#include "service/rpc/grpc_server.h"
#include "service/rpc/machine_id_handler.h"
#include "snowlease/v1/admin.grpc.pb.h"
#include "snowlease/v1/machine_id.grpc.pb.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_injecting_lease_store.h"

namespace snowlease::service {

// A whole server in this process, over the memory store and a clock that stands still.
struct RpcTestOptions {
  GrpcServerOptions grpc;
  GroupCommitterOptions committer;
  HandlerOptions handler;
  bool admin_enabled = true;
};

class RpcTestServer {
 public:
  explicit RpcTestServer(RpcTestOptions options = {});
  ~RpcTestServer();

  testing::FakeClock& clock() { return clock_; }
  testing::FaultInjectingLeaseStore& store() { return store_; }
  GroupCommitter& committer() { return *committer_; }
  GrpcServer& server() { return *server_; }
  int64_t NowMs() const { return clock_.Now().ms; }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  // A connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel(grpc::ChannelArguments arguments = {}) const;
  v1::MachineIdService::Stub& stub() { return *stub_; }
  v1::AdminService::Stub& admin() { return *admin_stub_; }

  v1::ClaimRequest ClaimRequestFor(const std::string& instance, char incarnation = 'i') const;
  v1::RenewRequest RenewRequestFor(const v1::Lease& lease) const;
  // Fails the test when the claim fails.
  v1::Lease Claim(const std::string& instance);

 private:
  testing::FakeClock clock_;
  testing::FaultInjectingLeaseStore store_;
  BlockingExecutor executor_;
  std::unique_ptr<GroupCommitter> committer_;
  std::unique_ptr<MachineIdHandler> machine_ids_;
  std::unique_ptr<AdminHandler> admin_handler_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<v1::MachineIdService::Stub> stub_;
  std::unique_ptr<v1::AdminService::Stub> admin_stub_;
};

// Reason of the ErrorInfo of the status; empty when there is none.
std::string ReasonOf(const grpc::Status& status);
std::string ReasonOf(const google::rpc::Status& status);
// Violated fields of its BadRequest.
std::vector<std::string> FieldsOf(const grpc::Status& status);

// A unary call with any bytes to any method.
struct RawAnswer {
  grpc::Status status;
  std::string bytes;
};
RawAnswer CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& bytes);
// Health of a service as grpc.health.v1 answers it: 1 SERVING, 2 NOT_SERVING.
int HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);
// The first answer of the server reflection to "list services", as bytes.
std::string ListServices(const std::shared_ptr<grpc::Channel>& channel);

// Waits until the condition holds; false after 10 s.
bool Eventually(const std::function<bool()>& condition);

}  // namespace snowlease::service
