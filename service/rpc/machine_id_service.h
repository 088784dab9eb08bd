#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "service/rpc/keep_alive_stream.h"
#include "service/rpc/machine_id_handler.h"
#include "snowlease/v1/machine_id.grpc.pb.h"
#include "storage/clock.h"

namespace snowlease::service {

// MachineIdService over gRPC's callback API: each method parses, enqueues, and
// finishes from the thread that answers. Thread-safe. Must outlive the gRPC server.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"  // gRPC hides its own sync methods
using RawMachineIdService = v1::MachineIdService::WithRawCallbackMethod_Claim<
    v1::MachineIdService::WithRawCallbackMethod_Renew<
        v1::MachineIdService::WithRawCallbackMethod_Release<
            v1::MachineIdService::WithRawCallbackMethod_Watermark<
                v1::MachineIdService::WithRawCallbackMethod_KeepAlive<
                    v1::MachineIdService::Service>>>>>;

class GrpcMachineIdService final : public RawMachineIdService {
 public:
  GrpcMachineIdService(MachineIdHandler* handler, storage::Clock* clock,
                       storage::Millis default_deadline, KeepAliveOptions keep_alive,
                       GrpcMetrics* metrics /* may be null */);

  grpc::ServerUnaryReactor* Claim(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Watermark(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* KeepAlive(
      grpc::CallbackServerContext* context) override;

  // Half-closes every KeepAlive stream; new ones are refused as DRAINING.
  void DrainStreams();

 private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Serve(
      GrpcMethod name, grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes,
      grpc::ByteBuffer* response,
      void (MachineIdHandler::*method)(const Request&, const CallContext&,
                                       MachineIdHandler::Done<Response>));

  MachineIdHandler* const handler_;
  storage::Clock* const clock_;
  const storage::Millis default_deadline_;
  const KeepAliveOptions keep_alive_;
  GrpcMetrics* const metrics_;
  std::mutex mutex_;
  bool draining_ = false;
  std::unordered_map<KeepAliveStream*, std::weak_ptr<KeepAliveStream>> streams_;
};
#pragma GCC diagnostic pop

}  // namespace snowlease::service
