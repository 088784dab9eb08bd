#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "storage/lease.h"

// Domain errors: one named factory each. An error is an absl::Status with a reason,
// metadata and, where waiting helps, a delay. Only service/rpc/status_table knows
// which gRPC code a reason has; everybody else asks ReasonOf.

namespace snowlease::storage {

// The same names as snowlease.v1.ErrorReason.
enum class Reason : uint8_t {
  kNone = 0,
  kInvalidArgument,
  kPageTokenInvalid,
  kMachineIdOverflow,
  kCapExceeded,
  kMachineIdLost,
  kClockSkew,
  kClockBehind,
  kWindowOpen,
  kNamespacePolicy,
  kIncarnationReused,
  kNamespaceNotEmpty,
  kStoreReset,
  kStoreUnavailable,
  kStoreTimeout,
  kDraining,
  kOverloaded,
  kNotFound,
  kAdminDisabled,
  kPermissionDenied,
  kUnauthenticated,
  kInternal,
};

using ErrorMetadata = std::map<std::string, std::string>;

// kNone for OK; kInternal for a status that none of the factories made.
Reason ReasonOf(const absl::Status& status);
// "MACHINE_ID_LOST" and so on: the enum value of the API without its prefix.
std::string ReasonName(Reason reason);
ErrorMetadata MetadataOf(const absl::Status& status);
// How long to wait before a retry can help; none where waiting does not.
std::optional<Millis> RetryAfterOf(const absl::Status& status);
// kNone when the status is not MACHINE_ID_LOST.
EndCause LossCauseOf(const absl::Status& status);
std::string EndCauseName(EndCause cause);

// One violated field of a request or setting.
struct FieldViolation {
  std::string field;
  std::string description;
};
absl::Status InvalidArgumentError(const std::vector<FieldViolation>& violations);
std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status);

absl::Status PageTokenInvalidError();
absl::Status MachineIdOverflowError(const NamespaceRow& name_space, uint64_t size,
                                    std::optional<StoreTime> next_expiry, StoreTime now,
                                    bool takeovers_paused);
absl::Status CapExceededError(const std::string& name_space, uint64_t cap, uint64_t in_use);
absl::Status MachineIdLostError(EndCause cause, const GrantKey& grant);
absl::Status ClockSkewError(Millis ahead, Millis allowed);
absl::Status ClockBehindError(const std::string& name_space, ClientTime lowest_floor, Millis wait,
                              bool takeovers_paused);
// No `until`: the window has no end.
absl::Status WindowOpenError(const std::string& name_space, uint32_t machine_id,
                             std::optional<ClientTime> until, std::optional<Millis> wait);
absl::Status NamespacePolicyError(const std::string& name_space, const std::string& what);
absl::Status IncarnationReusedError(const std::string& instance_id);
absl::Status NamespaceNotEmptyError(const NamespaceRow& name_space, uint64_t unexpired);
absl::Status StoreResetError(Millis quarantine_left);
absl::Status StoreUnavailableError(const std::string& what);
absl::Status StoreTimeoutError(const std::string& what);
absl::Status DrainingError();
absl::Status OverloadedError(const std::string& what, Millis pushback);
absl::Status NotFoundError(const std::string& what);
absl::Status AdminDisabledError();
absl::Status PermissionDeniedError(const std::string& what);
absl::Status UnauthenticatedError(const std::string& what);
absl::Status InternalError(const std::string& what);

}  // namespace snowlease::storage
