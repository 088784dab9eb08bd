#include <atomic>
#include <set>
#include <thread>

#include "tests/integration/test_client.h"

namespace snowlease::testing {
namespace {

constexpr std::chrono::milliseconds kPause{5};

// False: the server refused.
bool ClaimAll(v1::MachineIdService::Stub& stub, const std::string& name_space, int count,
              std::vector<v1::Lease>& leases) {
  for (int i = 0; i < count; ++i) {
    grpc::ClientContext context;
    v1::ClaimResponse response;
    const grpc::Status status =
        stub.Claim(&context, NewClaim(name_space, "s-" + std::to_string(i)), &response);
    if (!status.ok()) {
      Report({{"error", ReasonOf(status)}, {"message", status.error_message()}});
      return false;
    }
    leases.push_back(response.lease());
  }
  return true;
}

v1::KeepAliveRequest RenewalsOf(const std::vector<v1::Lease>& leases, uint64_t& tag,
                                std::set<uint64_t>& unanswered) {
  v1::KeepAliveRequest message;
  for (const v1::Lease& lease : leases) {
    v1::Renewal* renewal = message.add_renewals();
    renewal->set_tag(++tag);
    unanswered.insert(tag);
    renewal->mutable_renew()->set_namespace_(lease.namespace_());
    renewal->mutable_renew()->set_machine_id(lease.machine_id());
    renewal->mutable_renew()->set_instance_id(lease.instance_id());
    renewal->mutable_renew()->set_token(lease.token());
    renewal->mutable_renew()->set_client_time_ms(NowMs());
  }
  return message;
}

}  // namespace

int Stream(const std::string& server, const std::string& name_space, int count) {
  const auto channel = OwnChannel(server);
  const auto stub = v1::MachineIdService::NewStub(channel);
  std::vector<v1::Lease> leases;
  if (!ClaimAll(*stub, name_space, count, leases)) return 1;
  grpc::ClientContext context;
  const auto stream = stub->KeepAlive(&context);
  uint64_t tag = 0;
  uint64_t answered = 0;
  uint64_t errors = 0;
  std::set<uint64_t> unanswered;
  bool open = true;
  while (open && stream->Write(RenewalsOf(leases, tag, unanswered))) {
    v1::KeepAliveResponse response;
    while (!unanswered.empty() && (open = stream->Read(&response))) {
      for (const v1::RenewalResult& result : response.results()) {
        unanswered.erase(result.tag());
        ++answered;
        if (result.has_error()) ++errors;
      }
    }
    if (tag == leases.size() && unanswered.empty()) Report({{"streaming", std::to_string(tag)}});
    std::this_thread::sleep_for(kPause);
  }
  v1::KeepAliveResponse rest;
  while (stream->Read(&rest)) answered += static_cast<uint64_t>(rest.results_size());
  const grpc::Status status = stream->Finish();
  Report({{"answered", std::to_string(answered)},
          {"errors", std::to_string(errors)},
          {"code", std::to_string(status.error_code())},
          {"message", status.error_message()}});
  return 0;
}

int Connections(const std::string& server, const std::string& name_space, int count) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < count; ++i) {
    channels.push_back(OwnChannel(server));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::ClaimResponse response;
    const auto stub = v1::MachineIdService::NewStub(channels.back());
    const grpc::Status status =
        stub->Claim(&context, NewClaim(name_space, "c-" + std::to_string(i)), &response);
    if (!status.ok()) {
      Report({{"error", ReasonOf(status)},
              {"message", status.error_message()},
              {"connection", std::to_string(i)}});
      return 1;
    }
  }
  Report({{"open", std::to_string(count)}});
  WaitForEndOfInput();
  return 0;
}

}  // namespace snowlease::testing
