#pragma once

#include <string>

#include "service/batching/blocking_executor.h"
#include "service/metrics/grpc_metrics.h"
#include "service/rpc/admin_handler.h"
#include "snowlease/v1/admin.grpc.pb.h"
#include "storage/clock.h"

namespace snowlease::service {

// AdminService over gRPC's callback API: each method parses and runs the handler on
// the executor. Thread-safe. Must outlive the gRPC server.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"  // gRPC hides its own sync methods
using RawAdminService = v1::AdminService::WithRawCallbackMethod_ListNamespaces<
    v1::AdminService::WithRawCallbackMethod_GetNamespace<
        v1::AdminService::WithRawCallbackMethod_UpdateNamespace<
            v1::AdminService::WithRawCallbackMethod_DeleteNamespace<
                v1::AdminService::WithRawCallbackMethod_ListLeases<
                    v1::AdminService::WithRawCallbackMethod_GetLease<
                        v1::AdminService::WithRawCallbackMethod_ForceRelease<
                            v1::AdminService::WithRawCallbackMethod_ReserveIds<
                                v1::AdminService::WithRawCallbackMethod_UnreserveIds<
                                    v1::AdminService::WithRawCallbackMethod_FindOwner<
                                        v1::AdminService::Service>>>>>>>>>>;

// Tells the server's version in the trailer `snowlease-version` of every answer.
class GrpcAdminService final : public RawAdminService {
 public:
  GrpcAdminService(AdminHandler* handler, BlockingExecutor* executor, storage::Clock* clock,
                   storage::Millis default_deadline, GrpcMetrics* metrics /* may be null */,
                   std::string version);

  grpc::ServerUnaryReactor* ListNamespaces(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetNamespace(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UpdateNamespace(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteNamespace(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListLeases(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetLease(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ForceRelease(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ReserveIds(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UnreserveIds(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* FindOwner(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;

 private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Serve(
      GrpcMethod name, grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes,
      grpc::ByteBuffer* response,
      absl::StatusOr<Response> (AdminHandler::*method)(const Request&, const CallContext&));

  AdminHandler* const handler_;
  BlockingExecutor* const executor_;
  storage::Clock* const clock_;
  const storage::Millis default_deadline_;
  GrpcMetrics* const metrics_;
  const std::string version_;
};
#pragma GCC diagnostic pop

}  // namespace snowlease::service
