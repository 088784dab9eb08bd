#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "snowlease/client.h"
#include "tests/integration/test_client.h"

namespace snowlease::testing {
namespace {

void ReportFailure(const std::string& op, const std::string& instance, const absl::Status& status) {
  const client::Reason reason = client::ReasonOf(status);
  Report({{"op", op},
          {"instance", instance},
          {"error", reason == client::Reason::kNone ? "code " + std::to_string(status.raw_code())
                                                    : client::ReasonName(reason)},
          {"message", std::string(status.message())}});
}

Fields Answer(const std::string& op, const v1::Lease& lease) {
  return {{"op", op},
          {"instance", lease.instance_id()},
          {"machine_id", std::to_string(lease.machine_id())},
          {"token", std::to_string(lease.token())}};
}

bool Renew(client::Client& client, const v1::Lease& lease) {
  v1::RenewRequest request;
  request.set_namespace_(lease.namespace_());
  request.set_machine_id(lease.machine_id());
  request.set_instance_id(lease.instance_id());
  request.set_token(lease.token());
  request.set_client_time_ms(NowMs());
  request.set_last_timestamp_ms(request.client_time_ms());
  const auto answer = client.Renew(request);
  if (!answer.ok()) {
    ReportFailure("renew", lease.instance_id(), answer.status());
    return false;
  }
  Fields fields = Answer("renew", lease);
  fields.emplace_back("last", std::to_string(request.last_timestamp_ms()));
  Report(fields);
  return true;
}

void Release(client::Client& client, const v1::Lease& lease) {
  v1::ReleaseRequest request;
  request.set_namespace_(lease.namespace_());
  request.set_machine_id(lease.machine_id());
  request.set_instance_id(lease.instance_id());
  request.set_token(lease.token());
  request.set_last_timestamp_ms(NowMs());
  // Said before it is tried: without an answer nobody knows whether it was done.
  Report(Answer("releasing", lease));
  const auto answer = client.Release(request);
  if (answer.ok()) {
    Report(Answer("release", lease));
  } else {
    ReportFailure("release", lease.instance_id(), answer.status());
  }
}

}  // namespace

int Hold(const std::string& server, const std::string& name_space, int threads) {
  client::ClientOptions options;
  options.endpoints = {server};
  const auto client = client::Client::Create(options);
  if (!client.ok()) {
    ReportFailure("create", "", client.status());
    return 1;
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      for (int i = 0; !stop; ++i) {
        const std::string instance = absl::StrCat("t", thread, "-", i);
        const auto claimed = (*client)->Claim(NewClaim(name_space, instance));
        if (!claimed.ok()) {
          ReportFailure("claim", instance, claimed.status());
          continue;
        }
        Report(Answer("claim", claimed->lease()));
        if (Renew(**client, claimed->lease()) && i % 2 == 0) Release(**client, claimed->lease());
      }
    });
  }
  WaitForEndOfInput();
  stop = true;
  for (std::thread& worker : workers) worker.join();
  return 0;
}

}  // namespace snowlease::testing
