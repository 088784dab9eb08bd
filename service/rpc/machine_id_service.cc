#include "service/rpc/machine_id_service.h"

#include <vector>

#include "service/rpc/grpc_call.h"
#include "service/rpc/status_table.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using Context = grpc::CallbackServerContext;
using Bytes = grpc::ByteBuffer;

// Ends a stream at once.
class RefusedStream final : public grpc::ServerBidiReactor<Bytes, Bytes> {
 public:
  explicit RefusedStream(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

GrpcMachineIdService::GrpcMachineIdService(MachineIdHandler* handler, storage::Clock* clock,
                                           storage::Millis default_deadline,
                                           KeepAliveOptions keep_alive, GrpcMetrics* metrics)
    : handler_(handler),
      clock_(clock),
      default_deadline_(default_deadline),
      keep_alive_(keep_alive),
      metrics_(metrics) {}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* GrpcMachineIdService::Serve(
    GrpcMethod name, Context* context, const Bytes* bytes, Bytes* response,
    void (MachineIdHandler::*method)(const Request&, const CallContext&,
                                     MachineIdHandler::Done<Response>)) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const CallCounter counter{metrics_, name};
  Request request;
  if (const absl::Status status = ParseMessage(*bytes, &request); !status.ok()) {
    FinishCall(context, reactor, status, counter);
    return reactor;
  }
  const CallContext call{DeadlineOf(*context, *clock_, default_deadline_), ""};
  (handler_->*method)(request, call, AnswerTo<Response>(context, reactor, response, counter));
  return reactor;
}

grpc::ServerUnaryReactor* GrpcMachineIdService::Claim(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return Serve(GrpcMethod::kClaim, context, request, response, &MachineIdHandler::Claim);
}

grpc::ServerUnaryReactor* GrpcMachineIdService::Renew(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return Serve(GrpcMethod::kRenew, context, request, response, &MachineIdHandler::Renew);
}

grpc::ServerUnaryReactor* GrpcMachineIdService::Release(Context* context, const Bytes* request,
                                                        Bytes* response) {
  return Serve(GrpcMethod::kRelease, context, request, response, &MachineIdHandler::Release);
}

grpc::ServerUnaryReactor* GrpcMachineIdService::Watermark(Context* context, const Bytes* request,
                                                          Bytes* response) {
  return Serve(GrpcMethod::kWatermark, context, request, response, &MachineIdHandler::Watermark);
}

grpc::ServerBidiReactor<Bytes, Bytes>* GrpcMachineIdService::KeepAlive(Context* context) {
  const std::lock_guard lock(mutex_);
  const CallCounter counter{metrics_, GrpcMethod::kKeepAlive};
  if (draining_) {
    counter.Count(grpc::StatusCode::UNAVAILABLE);
    return new RefusedStream(storage::DrainingError());
  }
  const auto forget = [this](KeepAliveStream* stream) {
    const std::lock_guard forget_lock(mutex_);
    streams_.erase(stream);
  };
  const auto stream = KeepAliveStream::Start(handler_, clock_, context, default_deadline_,
                                             keep_alive_, counter, forget);
  streams_.emplace(stream.get(), stream);
  return stream.get();
}

void GrpcMachineIdService::DrainStreams() {
  std::vector<std::shared_ptr<KeepAliveStream>> open;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    for (const auto& [key, weak] : streams_) {
      if (auto stream = weak.lock()) open.push_back(std::move(stream));
    }
  }
  for (const auto& stream : open) stream->HalfClose();
}

}  // namespace snowlease::service
