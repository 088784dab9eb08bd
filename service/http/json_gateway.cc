#include "service/http/json_gateway.h"

#include <google/protobuf/util/json_util.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "service/http/http_status.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;

// The handlers answer when the deadline has passed; this is for a store that does not.
constexpr storage::Millis kGrace{2000};

constexpr storage::Millis kPushback{200};

// Where an answer from another thread is waited for.
template <typename Response>
class Answer {
 public:
  void Set(absl::StatusOr<Response> result) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    ready_.notify_all();
  }

  absl::StatusOr<Response> Await(storage::Clock* clock, storage::SteadyTime until) {
    std::unique_lock lock(mutex_);
    while (!result_ && clock->SteadyNow() < until) clock->WaitUntil(ready_, lock, until);
    if (result_) return *std::move(result_);
    return storage::StoreTimeoutError("the store did not answer; ask again with the same request");
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::optional<absl::StatusOr<Response>> result_;
};

// "machine_bits" as it is written in JSON.
std::string JsonName(const std::string& path) {
  std::string name;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool joins = path[i] == '_' && i + 1 < path.size() && std::islower(path[i + 1]) != 0;
    name += joins ? static_cast<char>(std::toupper(path[++i])) : path[i];
  }
  return name;
}

// Protobuf tells the field, where it knows it, as "(machine_bits): invalid value ...".
absl::Status ParseFault(const std::string& message_type, const std::string& what) {
  const size_t end = what.find("): ");
  if (!what.starts_with('(') || end == std::string::npos || end == 1) {
    return storage::InvalidArgumentError(
        {{"body", "is not the JSON of " + message_type + ": " + what}});
  }
  const std::string field = what.substr(1, end - 1);
  return storage::InvalidArgumentError({{field, JsonName(field) + what.substr(end + 1)}});
}

absl::Status Parse(const std::string& body, google::protobuf::Message* request) {
  if (body.empty()) {
    return storage::InvalidArgumentError({{"body", "is empty; send a JSON object such as {}"}});
  }
  const auto parsed = JsonStringToMessage(body, request);
  if (parsed.ok()) return absl::OkStatus();
  return ParseFault(request->GetDescriptor()->full_name(), std::string(parsed.message()));
}

template <typename Response>
HttpResponse ToHttp(const absl::StatusOr<Response>& result) {
  if (!result.ok()) return ErrorResponse(result.status());
  HttpResponse response;
  const auto printed = MessageToJsonString(*result, &response.body);
  if (!printed.ok()) {
    return ErrorResponse(storage::InternalError("the answer is no JSON: " + printed.ToString()));
  }
  return response;
}

}  // namespace

JsonGateway::JsonGateway(MachineIdHandler* machine_ids, AdminHandler* admin, storage::Clock* clock,
                         storage::Millis timeout, int max_calls)
    : machine_ids_(machine_ids),
      admin_(admin),
      clock_(clock),
      timeout_(timeout),
      limit_(max_calls, clock) {
  AddMachineIds("claim", &MachineIdHandler::Claim);
  AddMachineIds("renew", &MachineIdHandler::Renew);
  AddMachineIds("release", &MachineIdHandler::Release);
  AddMachineIds("watermark", &MachineIdHandler::Watermark);
  AddAdmin("listNamespaces", &AdminHandler::ListNamespaces);
  AddAdmin("getNamespace", &AdminHandler::GetNamespace);
  AddAdmin("updateNamespace", &AdminHandler::UpdateNamespace);
  AddAdmin("deleteNamespace", &AdminHandler::DeleteNamespace);
  AddAdmin("listLeases", &AdminHandler::ListLeases);
  AddAdmin("getLease", &AdminHandler::GetLease);
  AddAdmin("forceRelease", &AdminHandler::ForceRelease);
  AddAdmin("reserveIds", &AdminHandler::ReserveIds);
  AddAdmin("unreserveIds", &AdminHandler::UnreserveIds);
  AddAdmin("findOwner", &AdminHandler::FindOwner);
}

HttpResponse JsonGateway::Call(const std::string& path, const std::string& body) const {
  const auto call = calls_.find(path);
  if (call == calls_.end()) {
    return HttpFault(404, grpc::StatusCode::NOT_FOUND, path + " is no call of the API");
  }
  const std::optional<CallLimit::Place> place = limit_.Enter();
  if (!place) {
    return ErrorResponse(storage::OverloadedError(
        std::to_string(limit_.most()) + " calls over HTTP already wait for the store, all that "
                                        "http.threads has room for",
        kPushback));
  }
  return call->second(body);
}

template <typename Request, typename Response>
void JsonGateway::AddMachineIds(
    const std::string& name, void (MachineIdHandler::*method)(const Request&, const CallContext&,
                                                              MachineIdHandler::Done<Response>)) {
  calls_["/v1/machine-ids:" + name] = [this, method](const std::string& body) {
    Request request;
    const absl::Status parsed = Parse(body, &request);
    if (!parsed.ok()) return ErrorResponse(parsed);
    const CallContext context = NewContext();
    // Shared: the answer may come after this thread stopped waiting.
    auto answer = std::make_shared<Answer<Response>>();
    (machine_ids_->*method)(request, context, [answer](absl::StatusOr<Response> result) {
      answer->Set(std::move(result));
    });
    return ToHttp(answer->Await(clock_, context.deadline + kGrace));
  };
}

template <typename Request, typename Response>
void JsonGateway::AddAdmin(const std::string& name,
                           absl::StatusOr<Response> (AdminHandler::*method)(const Request&,
                                                                            const CallContext&)) {
  calls_["/v1/admin:" + name] = [this, method](const std::string& body) {
    Request request;
    const absl::Status parsed = Parse(body, &request);
    if (!parsed.ok()) return ErrorResponse(parsed);
    return ToHttp((admin_->*method)(request, NewContext()));
  };
}

CallContext JsonGateway::NewContext() const {
  CallContext context;
  context.deadline = clock_->SteadyNow() + timeout_;
  return context;
}

}  // namespace snowlease::service
