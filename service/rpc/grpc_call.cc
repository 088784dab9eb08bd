#include "service/rpc/grpc_call.h"

#include "grpc/support/time.h"
#include "service/rpc/status_table.h"

namespace snowlease::service {

storage::SteadyTime DeadlineOf(const grpc::CallbackServerContext& context,
                               const storage::Clock& clock, storage::Millis fallback) {
  const gpr_timespec deadline = context.raw_deadline();
  const gpr_timespec never = gpr_inf_future(deadline.clock_type);
  storage::Millis left = fallback;
  if (gpr_time_cmp(deadline, never) != 0) {
    // gRPC counts deadlines on a clock of its own; only the difference carries over.
    const gpr_timespec now = gpr_now(deadline.clock_type);
    left = storage::Millis(gpr_time_to_millis(gpr_time_sub(deadline, now)));
  }
  return clock.SteadyNow() + left;
}

std::string PrincipalOf(const grpc::CallbackServerContext& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return "";
  const auto identity = auth->GetPeerIdentity();
  if (identity.empty()) return "";
  return std::string(identity.front().data(), identity.front().size());
}

void FinishCall(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
                const absl::Status& status, CallCounter counter) {
  if (const auto pushback = PushbackOf(status)) {
    context->AddTrailingMetadata(kPushbackKey, *pushback);
  }
  const grpc::Status answer = ToGrpcStatus(status);
  counter.Count(answer.error_code());
  reactor->Finish(answer);
}

}  // namespace snowlease::service
