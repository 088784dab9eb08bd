#include "service/rpc/admin_service.h"

#include <memory>
#include <utility>

#include "service/rpc/grpc_call.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using Context = grpc::CallbackServerContext;
using Bytes = grpc::ByteBuffer;
using Reactor = grpc::ServerUnaryReactor;

// How long a caller stays away when the executor's threads are all busy.
constexpr storage::Millis kPushback{500};

}  // namespace

GrpcAdminService::GrpcAdminService(AdminHandler* handler, BlockingExecutor* executor,
                                   storage::Clock* clock, storage::Millis default_deadline,
                                   GrpcMetrics* metrics, std::string version)
    : handler_(handler),
      executor_(executor),
      clock_(clock),
      default_deadline_(default_deadline),
      metrics_(metrics),
      version_(std::move(version)) {}

template <typename Request, typename Response>
Reactor* GrpcAdminService::Serve(
    GrpcMethod name, Context* context, const Bytes* bytes, Bytes* response,
    absl::StatusOr<Response> (AdminHandler::*method)(const Request&, const CallContext&)) {
  Reactor* reactor = context->DefaultReactor();
  const CallCounter counter{metrics_, name};
  if (!version_.empty()) context->AddTrailingMetadata("snowlease-version", version_);
  const auto request = std::make_shared<Request>();
  if (const absl::Status status = ParseMessage(*bytes, request.get()); !status.ok()) {
    FinishCall(context, reactor, status, counter);
    return reactor;
  }
  const CallContext call{DeadlineOf(*context, *clock_, default_deadline_), PrincipalOf(*context)};
  const auto answer = AnswerTo<Response>(context, reactor, response, counter);
  const bool accepted = executor_->TryRun([handler = handler_, method, request, call, answer] {
    answer((handler->*method)(*request, call));
  });
  if (!accepted) answer(storage::OverloadedError("too many admin calls at a time", kPushback));
  return reactor;
}

Reactor* GrpcAdminService::ListNamespaces(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kListNamespaces, context, request, response,
               &AdminHandler::ListNamespaces);
}

Reactor* GrpcAdminService::GetNamespace(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kGetNamespace, context, request, response, &AdminHandler::GetNamespace);
}

Reactor* GrpcAdminService::UpdateNamespace(Context* context, const Bytes* request,
                                           Bytes* response) {
  return Serve(GrpcMethod::kUpdateNamespace, context, request, response,
               &AdminHandler::UpdateNamespace);
}

Reactor* GrpcAdminService::DeleteNamespace(Context* context, const Bytes* request,
                                           Bytes* response) {
  return Serve(GrpcMethod::kDeleteNamespace, context, request, response,
               &AdminHandler::DeleteNamespace);
}

Reactor* GrpcAdminService::ListLeases(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kListLeases, context, request, response, &AdminHandler::ListLeases);
}

Reactor* GrpcAdminService::GetLease(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kGetLease, context, request, response, &AdminHandler::GetLease);
}

Reactor* GrpcAdminService::ForceRelease(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kForceRelease, context, request, response, &AdminHandler::ForceRelease);
}

Reactor* GrpcAdminService::ReserveIds(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kReserveIds, context, request, response, &AdminHandler::ReserveIds);
}

Reactor* GrpcAdminService::UnreserveIds(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kUnreserveIds, context, request, response, &AdminHandler::UnreserveIds);
}

Reactor* GrpcAdminService::FindOwner(Context* context, const Bytes* request, Bytes* response) {
  return Serve(GrpcMethod::kFindOwner, context, request, response, &AdminHandler::FindOwner);
}

}  // namespace snowlease::service
