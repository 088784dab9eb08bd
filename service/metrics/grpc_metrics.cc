#include "service/metrics/grpc_metrics.h"

#include <iterator>

namespace snowlease::service {
namespace {

using prometheus::Counter;

constexpr const char* kMethodNames[] = {
    "Claim",          "Renew",        "Release",         "Watermark",       "KeepAlive",
    "ListNamespaces", "GetNamespace", "UpdateNamespace", "DeleteNamespace", "ListLeases",
    "GetLease",       "ForceRelease", "ReserveIds",      "UnreserveIds",    "FindOwner"};
static_assert(std::size(kMethodNames) == kGrpcMethods);

constexpr const char* kCodeNames[] = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

prometheus::Labels LabelsOf(size_t method, size_t code) {
  const bool admin = method >= static_cast<size_t>(GrpcMethod::kListNamespaces);
  const bool stream = method == static_cast<size_t>(GrpcMethod::kKeepAlive);
  return {{"grpc_service", admin ? "snowlease.v1.AdminService" : "snowlease.v1.MachineIdService"},
          {"grpc_type", stream ? "bidi_stream" : "unary"},
          {"grpc_method", kMethodNames[method]},
          {"grpc_code", kCodeNames[code]}};
}

}  // namespace

GrpcMetrics::GrpcMetrics(prometheus::Registry& registry)
    : handled_([&family = Counters(registry, "grpc_server_handled_total",
                                   "Calls and streams that ended, by method and code.")](
                   size_t index) -> Counter& {
        return family.Add(LabelsOf(index / kCodes, index % kCodes));
      }) {
  static_assert(std::size(kCodeNames) == kCodes);
  // Rates start at zero only for series that exist before their first event.
  for (size_t method = 0; method < kGrpcMethods; ++method) handled_[method * kCodes];
}

void GrpcMetrics::OnHandled(GrpcMethod method, int code) {
  const size_t known = code >= 0 && code < static_cast<int>(kCodes) ? static_cast<size_t>(code) : 2;
  handled_[static_cast<size_t>(method) * kCodes + known].Increment();
}

}  // namespace snowlease::service
