#include "service/rpc/rpc_test_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "grpcpp/generic/generic_stub.h"
#include "storage/memory/memory_lease_store.h"

namespace snowlease::service {
namespace {

using google::rpc::BadRequest;
using google::rpc::ErrorInfo;

template <typename Detail>
std::optional<Detail> DetailOf(const google::rpc::Status& status) {
  for (const auto& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  return details;
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::string text;
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return text;
  for (const auto& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

void AwaitTag(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
}

}  // namespace

RpcTestServer::RpcTestServer(RpcTestOptions options)
    : store_(std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock_)),
      executor_(2, 64) {
  committer_ = std::make_unique<GroupCommitter>(&store_, &clock_, options.committer, nullptr);
  machine_ids_ = std::make_unique<MachineIdHandler>(committer_.get(), &store_, &executor_, &clock_,
                                                    options.handler);
  admin_handler_ =
      std::make_unique<AdminHandler>(&store_, &clock_, AdminHandlerOptions{options.admin_enabled});
  options.grpc.listen = "127.0.0.1:0";
  auto server = GrpcServer::Start(options.grpc, machine_ids_.get(), admin_handler_.get(),
                                  &executor_, &clock_);
  EXPECT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  const auto channel = NewChannel();
  stub_ = v1::MachineIdService::NewStub(channel);
  admin_stub_ = v1::AdminService::NewStub(channel);
}

RpcTestServer::~RpcTestServer() {
  server_->Shutdown(clock_.SteadyNow() + std::chrono::seconds(5));
  server_.reset();
}

std::shared_ptr<grpc::Channel> RpcTestServer::NewChannel(grpc::ChannelArguments arguments) const {
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments);
}

v1::ClaimRequest RpcTestServer::ClaimRequestFor(const std::string& instance,
                                                char incarnation) const {
  v1::ClaimRequest request;
  request.set_namespace_("orders");
  request.set_instance_id(instance);
  request.set_incarnation_id(std::string(16, incarnation));
  request.set_machine_bits(12);
  request.set_client_time_ms(NowMs());
  return request;
}

v1::RenewRequest RpcTestServer::RenewRequestFor(const v1::Lease& lease) const {
  v1::RenewRequest request;
  request.set_namespace_(lease.namespace_());
  request.set_machine_id(lease.machine_id());
  request.set_instance_id(lease.instance_id());
  request.set_token(lease.token());
  request.set_client_time_ms(NowMs());
  return request;
}

v1::Lease RpcTestServer::Claim(const std::string& instance) {
  grpc::ClientContext context;
  v1::ClaimResponse response;
  const grpc::Status status = stub_->Claim(&context, ClaimRequestFor(instance), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.lease();
}

std::string ReasonOf(const google::rpc::Status& status) {
  const auto info = DetailOf<ErrorInfo>(status);
  return info && info->domain() == "snowlease" ? info->reason() : "";
}

std::string ReasonOf(const grpc::Status& status) { return ReasonOf(Details(status)); }

std::vector<std::string> FieldsOf(const grpc::Status& status) {
  std::vector<std::string> fields;
  const auto bad = DetailOf<BadRequest>(Details(status));
  if (!bad) return fields;
  for (const auto& violation : bad->field_violations()) fields.push_back(violation.field());
  return fields;
}

RawAnswer CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& bytes) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, method, ToBuffer(bytes), &queue);
  RawAnswer answer;
  grpc::ByteBuffer buffer;
  call->StartCall();
  call->Finish(&buffer, &answer.status, nullptr);
  AwaitTag(queue);
  answer.bytes = ToString(buffer);
  return answer;
}

int HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  std::string request;
  if (!service.empty()) request = "\x0A" + std::string(1, char(service.size())) + service;
  const RawAnswer answer = CallRaw(channel, "/grpc.health.v1.Health/Check", request);
  if (!answer.status.ok()) return -static_cast<int>(answer.status.error_code());
  return answer.bytes.size() == 2 ? answer.bytes[1] : 0;
}

std::string ListServices(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  AwaitTag(queue);
  call->Write(ToBuffer(std::string("\x3A\x01*")), nullptr);  // list_services: "*"
  AwaitTag(queue);
  grpc::ByteBuffer buffer;
  call->Read(&buffer, nullptr);
  AwaitTag(queue);
  call->WritesDone(nullptr);
  AwaitTag(queue);
  grpc::Status status;
  call->Finish(&status, nullptr);
  AwaitTag(queue);
  return status.ok() ? ToString(buffer) : status.error_message();
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace snowlease::service
