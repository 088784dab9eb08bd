#pragma once

#include <gmock/gmock.h>

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/errors.h"

// Matchers for absl::Status and absl::StatusOr, and printing of our types in failures.

namespace snowlease::storage {

inline void PrintTo(Reason reason, std::ostream* out) { *out << ReasonName(reason); }
inline void PrintTo(EndCause cause, std::ostream* out) { *out << EndCauseName(cause); }
template <typename ClockTag>
void PrintTo(const TimePoint<ClockTag>& time, std::ostream* out) {
  *out << time.ms << " ms";
}

}  // namespace snowlease::storage

namespace snowlease::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Matches an OK status, or a result that holds a value.
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// Matches an error with this storage::Reason; kNone matches OK.
MATCHER_P(HasReason, reason,
          (negation ? "has not reason " : "has reason ") + storage::ReasonName(reason)) {
  *result_listener << "which has reason " << storage::ReasonName(storage::ReasonOf(StatusOf(arg)))
                   << ": " << StatusOf(arg).ToString();
  return storage::ReasonOf(StatusOf(arg)) == reason;
}

// Matches MACHINE_ID_LOST with this storage::EndCause.
MATCHER_P(HasLossCause, cause,
          (negation ? "is not LOST by " : "is LOST by ") + storage::EndCauseName(cause)) {
  *result_listener << "which is " << StatusOf(arg).ToString();
  return storage::ReasonOf(StatusOf(arg)) == storage::Reason::kMachineIdLost &&
         storage::LossCauseOf(StatusOf(arg)) == cause;
}

}  // namespace snowlease::testing
