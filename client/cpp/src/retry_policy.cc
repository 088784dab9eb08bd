#include "snowlease/retry_policy.h"

#include <algorithm>
#include <cmath>

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;

milliseconds Scaled(milliseconds duration, double factor) {
  return milliseconds(std::llround(static_cast<double>(duration.count()) * factor));
}

}  // namespace

bool MayRetry(absl::StatusCode code, Reason reason) {
  switch (reason) {
    case Reason::kStoreUnavailable:
    case Reason::kStoreTimeout:
    case Reason::kDraining:
    case Reason::kOverloaded:
      return true;
    case Reason::kNone:
      return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDeadlineExceeded;
    default:
      return false;
  }
}

milliseconds BackoffAfter(const RetryOptions& options, int failures, double random) {
  const double doubled =
      static_cast<double>(options.initial_backoff.count()) * std::exp2(std::max(failures - 1, 0));
  const double capped = std::min(doubled, static_cast<double>(options.max_backoff.count()));
  return Scaled(milliseconds(std::llround(capped)), 0.5 + random);
}

std::optional<milliseconds> NextAttemptAfter(const RetryOptions& options,
                                             const FailedAttempt& attempt) {
  if (attempt.number >= options.max_attempts) return std::nullopt;
  // The store's quarantine has a known end: before it no attempt can succeed.
  const bool quarantined = attempt.reason == Reason::kStoreReset && attempt.retry_delay;
  if (!quarantined && !MayRetry(attempt.code, attempt.reason)) return std::nullopt;
  if (attempt.pushback && *attempt.pushback < milliseconds(0)) return std::nullopt;
  milliseconds wait = BackoffAfter(options, attempt.number, attempt.random);
  const auto asked = attempt.pushback ? attempt.pushback : attempt.retry_delay;
  if (asked) {
    // All who were pushed back at once would come back at once without the spread.
    const milliseconds spread = Scaled(*asked, 1 + 0.2 * attempt.random);
    wait = attempt.pushback ? spread : std::max(wait, spread);
  }
  if (wait >= attempt.remaining) return std::nullopt;
  return wait;
}

}  // namespace snowlease::client
