#pragma once

#include "service/metrics/metric_families.h"

namespace snowlease::service {

// The methods that are counted, in the order of the API.
enum class GrpcMethod : uint8_t {
  kClaim,
  kRenew,
  kRelease,
  kWatermark,
  kKeepAlive,
  kListNamespaces,
  kGetNamespace,
  kUpdateNamespace,
  kDeleteNamespace,
  kListLeases,
  kGetLease,
  kForceRelease,
  kReserveIds,
  kUnreserveIds,
  kFindOwner,
};
inline constexpr size_t kGrpcMethods = static_cast<size_t>(GrpcMethod::kFindOwner) + 1;

// Calls by method and code, under the names that gRPC servers of all languages use.
// Thread-safe; an increment per call.
class GrpcMetrics {
 public:
  // The registry must outlive it.
  explicit GrpcMetrics(prometheus::Registry& registry);

  // The server ended a call or stream with this grpc::StatusCode.
  void OnHandled(GrpcMethod method, int code);

 private:
  static constexpr size_t kCodes = 17;

  LazyMetrics<prometheus::Counter, kGrpcMethods * kCodes> handled_;
};

}  // namespace snowlease::service
