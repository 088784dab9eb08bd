#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "service/metrics/grpc_metrics.h"
#include "service/rpc/wire.h"
#include "storage/clock.h"

// What every gRPC method of ours does before and after its handler.

namespace snowlease::service {

// When the caller stops waiting; `fallback` from now when it does not say.
storage::SteadyTime DeadlineOf(const grpc::CallbackServerContext& context,
                               const storage::Clock& clock, storage::Millis fallback);

// Who calls, as proved by its certificate; empty: anonymous.
std::string PrincipalOf(const grpc::CallbackServerContext& context);

// Where ended calls are counted; `metrics` may be null.
struct CallCounter {
  GrpcMetrics* metrics = nullptr;
  GrpcMethod method{};

  void Count(int code) const {
    if (metrics != nullptr) metrics->OnHandled(method, code);
  }
};

// Ends the call with the status, its details and the pushback.
void FinishCall(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
                const absl::Status& status, CallCounter counter);

// What a handler is given to end the call with; may be called from any thread, once.
template <typename Response>
std::function<void(absl::StatusOr<Response>)> AnswerTo(grpc::CallbackServerContext* context,
                                                       grpc::ServerUnaryReactor* reactor,
                                                       grpc::ByteBuffer* bytes,
                                                       CallCounter counter) {
  return [context, reactor, bytes, counter](const absl::StatusOr<Response>& response) {
    if (response.ok()) SerializeMessage(*response, bytes);
    FinishCall(context, reactor, response.status(), counter);
  };
}

}  // namespace snowlease::service
