#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

// A failed call is an absl::Status with the code of the answer, its message, and
// behind these functions what the server said in machine-readable form.

namespace snowlease::client {

// Why a call failed; the names and numbers of snowlease.v1.ErrorReason.
enum class Reason : uint8_t {
  kNone = 0,  // OK, or an error that the server gave no reason for
  kInvalidArgument = 1,
  kPageTokenInvalid = 2,
  kMachineIdOverflow = 3,
  kCapExceeded = 4,
  kMachineIdLost = 5,
  kClockSkew = 6,
  kClockBehind = 7,
  kWindowOpen = 8,
  kNamespacePolicy = 9,
  kIncarnationReused = 10,
  kNamespaceNotEmpty = 11,
  kStoreReset = 12,
  kStoreUnavailable = 13,
  kStoreTimeout = 14,
  kDraining = 15,
  kOverloaded = 16,
  kNotFound = 17,
  kAdminDisabled = 18,
  kPermissionDenied = 19,
  kUnauthenticated = 20,
  kInternal = 21,
};

// How a grant ended; the names and numbers of snowlease.v1.LossCause.
enum class LossCause : uint8_t {
  kNone = 0,  // the status is not MACHINE_ID_LOST
  kSuperseded = 1,
  kTakenOver = 2,
  kReleased = 3,
  kRevoked = 4,
  kUnknown = 5,  // also a cause that this version does not know
};

struct FieldViolation {
  std::string field;
  std::string description;
};

Reason ReasonOf(const absl::Status& status);
// MACHINE_ID_LOST and so on; empty for kNone.
std::string ReasonName(Reason reason);
// SUPERSEDED and so on; empty for kNone.
std::string LossCauseName(LossCause cause);
LossCause LossCauseOf(const absl::Status& status);
// The reason's metadata as api.md names it, e.g. "until" of WINDOW_OPEN.
std::map<std::string, std::string> MetadataOf(const absl::Status& status);
// All fields that the server refused.
std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status);
// How long the server wants the client to wait, where it said so.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);
// Whether the same call may succeed later: by reason, and without one when the
// server could not be reached or did not answer in time.
bool IsRetryable(const absl::Status& status);

}  // namespace snowlease::client
