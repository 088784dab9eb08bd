#include "service/rpc/status_table.h"

#include <algorithm>

#include "google/rpc/error_details.pb.h"
#include "service/rpc/utf8.h"

namespace snowlease::service {
namespace {

using storage::Reason;

constexpr char kDomain[] = "snowlease";

// gRPC sends a status as trailing metadata of at most 8 KiB: the message (three times
// its size where it is percent-encoded) and the details (4/3 of it, as base64).
constexpr size_t kMaxMessageBytes = 600;
constexpr size_t kMaxMetadataBytes = 256;
constexpr size_t kMaxViolationsBytes = 2200;

void AddErrorInfo(const absl::Status& status, google::rpc::Status& out) {
  google::rpc::ErrorInfo info;
  info.set_reason(storage::ReasonName(storage::ReasonOf(status)));
  info.set_domain(kDomain);
  for (const auto& [key, value] : storage::MetadataOf(status)) {
    (*info.mutable_metadata())[key] = SafeText(value, kMaxMetadataBytes);
  }
  out.add_details()->PackFrom(info);
}

void AddBadRequest(const absl::Status& status, google::rpc::Status& out) {
  const auto violations = storage::FieldViolationsOf(status);
  if (violations.empty()) return;
  google::rpc::BadRequest bad;
  size_t bytes = 0;
  for (const auto& [field, description] : violations) {
    bytes += field.size() + description.size();
    if (bytes > kMaxViolationsBytes) break;
    auto* violation = bad.add_field_violations();
    violation->set_field(SafeText(field, kMaxMetadataBytes));
    violation->set_description(SafeText(description, kMaxMessageBytes));
  }
  out.add_details()->PackFrom(bad);
}

void AddRetryInfo(const absl::Status& status, google::rpc::Status& out) {
  const auto wait = storage::RetryAfterOf(status);
  if (!wait) return;
  const int64_t ms = std::max<int64_t>(wait->count(), 0);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(ms / 1000);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
  out.add_details()->PackFrom(retry);
}

}  // namespace

grpc::StatusCode CodeOf(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return grpc::OK;
    case Reason::kInvalidArgument:
    case Reason::kPageTokenInvalid:
      return grpc::INVALID_ARGUMENT;
    case Reason::kMachineIdOverflow:
    case Reason::kCapExceeded:
      return grpc::RESOURCE_EXHAUSTED;
    case Reason::kMachineIdLost:
    case Reason::kClockSkew:
    case Reason::kClockBehind:
    case Reason::kWindowOpen:
    case Reason::kNamespacePolicy:
    case Reason::kIncarnationReused:
    case Reason::kNamespaceNotEmpty:
    case Reason::kStoreReset:
      return grpc::FAILED_PRECONDITION;
    case Reason::kStoreUnavailable:
    case Reason::kStoreTimeout:
    case Reason::kDraining:
    case Reason::kOverloaded:
      return grpc::UNAVAILABLE;
    case Reason::kNotFound:
      return grpc::NOT_FOUND;
    case Reason::kAdminDisabled:
    case Reason::kPermissionDenied:
      return grpc::PERMISSION_DENIED;
    case Reason::kUnauthenticated:
      return grpc::UNAUTHENTICATED;
    case Reason::kInternal:
      break;
  }
  return grpc::INTERNAL;
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status out;
  if (status.ok()) return out;
  out.set_code(CodeOf(storage::ReasonOf(status)));
  out.set_message(SafeText(std::string(status.message()), kMaxMessageBytes));
  AddErrorInfo(status, out);
  AddBadRequest(status, out);
  AddRetryInfo(status, out);
  return out;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(details.code()), details.message(),
                      details.SerializeAsString());
}

std::optional<std::string> PushbackOf(const absl::Status& status) {
  if (storage::ReasonOf(status) != Reason::kOverloaded) return std::nullopt;
  const auto wait = storage::RetryAfterOf(status);
  if (!wait) return std::nullopt;
  return std::to_string(std::max<int64_t>(wait->count(), 0));
}

}  // namespace snowlease::service
