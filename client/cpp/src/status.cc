#include "snowlease/grpc.h"

#include <charconv>

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "snowlease/errors.h"
#include "snowlease/retry_policy.h"
#include "snowlease/v1/error_reason.pb.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;

constexpr char kPayload[] = "type.googleapis.com/google.rpc.Status";
constexpr char kDomain[] = "snowlease";
constexpr char kReasonPrefix[] = "ERROR_REASON_";
constexpr char kCausePrefix[] = "LOSS_CAUSE_";

google::rpc::Status Payload(const absl::Status& status) {
  google::rpc::Status payload;
  const auto bytes = status.GetPayload(kPayload);
  if (bytes && !payload.ParseFromString(std::string(*bytes))) payload.Clear();
  return payload;
}

// The first detail of that type.
template <typename Detail>
std::optional<Detail> DetailOf(const absl::Status& status) {
  const google::rpc::Status payload = Payload(status);
  for (const auto& any : payload.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

std::optional<google::rpc::ErrorInfo> InfoOf(const absl::Status& status) {
  auto info = DetailOf<google::rpc::ErrorInfo>(status);
  if (info && info->domain() != kDomain) info.reset();
  return info;
}

absl::StatusCode CodeOf(int code) {
  // A code from outside the list must not become OK.
  if (code < 1 || code > static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::StatusCode::kUnknown;
  }
  return static_cast<absl::StatusCode>(code);
}

}  // namespace

gpr_timespec DeadlineIn(milliseconds duration) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(duration.count(), GPR_TIMESPAN));
}

absl::Status FromRpcStatus(const google::rpc::Status& status) {
  absl::Status result(CodeOf(status.code()), status.message());
  result.SetPayload(kPayload, absl::Cord(status.SerializeAsString()));
  return result;
}

std::optional<milliseconds> PushbackOf(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto trailer = trailers.find("grpc-retry-pushback-ms");
  if (trailer == trailers.end()) return std::nullopt;
  int64_t value = 0;
  const char* end = trailer->second.data() + trailer->second.size();
  const auto [stop, error] = std::from_chars(trailer->second.data(), end, value);
  // gRPC's own rule: what cannot be read means "do not retry".
  if (error != std::errc() || stop != end) return milliseconds(-1);
  return milliseconds(value);
}

absl::Status FromGrpcStatus(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) details.Clear();
  details.set_code(status.error_code());
  details.set_message(status.error_message());
  absl::Status result = FromRpcStatus(details);
  const auto pushback = PushbackOf(context);
  if (pushback && pushback->count() >= 0 && !RetryDelayOf(result)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(pushback->count() / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int>(pushback->count() % 1000) * 1'000'000);
    details.add_details()->PackFrom(retry);
    result = FromRpcStatus(details);
  }
  return result;
}

Reason ReasonOf(const absl::Status& status) {
  const auto info = InfoOf(status);
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  if (info) v1::ErrorReason_Parse(kReasonPrefix + info->reason(), &reason);
  return static_cast<Reason>(reason);
}

std::string ReasonName(Reason reason) {
  if (reason == Reason::kNone) return {};
  return v1::ErrorReason_Name(static_cast<v1::ErrorReason>(reason))
      .substr(sizeof(kReasonPrefix) - 1);
}

std::string LossCauseName(LossCause cause) {
  if (cause == LossCause::kNone) return {};
  return v1::LossCause_Name(static_cast<v1::LossCause>(cause)).substr(sizeof(kCausePrefix) - 1);
}

LossCause LossCauseOf(const absl::Status& status) {
  if (ReasonOf(status) != Reason::kMachineIdLost) return LossCause::kNone;
  v1::LossCause cause = v1::LOSS_CAUSE_UNSPECIFIED;
  v1::LossCause_Parse(kCausePrefix + MetadataOf(status)["cause"], &cause);
  return cause == v1::LOSS_CAUSE_UNSPECIFIED ? LossCause::kUnknown : static_cast<LossCause>(cause);
}

std::map<std::string, std::string> MetadataOf(const absl::Status& status) {
  const auto info = InfoOf(status);
  if (!info) return {};
  return {info->metadata().begin(), info->metadata().end()};
}

std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  const auto bad_request = DetailOf<google::rpc::BadRequest>(status);
  if (!bad_request) return violations;
  for (const auto& violation : bad_request->field_violations()) {
    violations.push_back({violation.field(), violation.description()});
  }
  return violations;
}

std::optional<milliseconds> RetryDelayOf(const absl::Status& status) {
  const auto retry = DetailOf<google::rpc::RetryInfo>(status);
  if (!retry) return std::nullopt;
  const auto& delay = retry->retry_delay();
  return milliseconds(delay.seconds() * 1000 + delay.nanos() / 1'000'000);
}

bool IsRetryable(const absl::Status& status) { return MayRetry(status.code(), ReasonOf(status)); }

}  // namespace snowlease::client
