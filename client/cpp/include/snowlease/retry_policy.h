#pragma once

#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "snowlease/errors.h"

namespace snowlease::client {

struct RetryOptions {
  // Attempts in all; 1 = never retry.
  int max_attempts = 5;
  // Wait after the first failed attempt; doubles up to max_backoff. A wait is
  // drawn from half to one and a half times that. All four together last 1.9 s at
  // least: a server that is restarted in the meantime fails no call.
  std::chrono::milliseconds initial_backoff{250};
  std::chrono::milliseconds max_backoff{5000};
};

// All that a decision about a retry depends on.
struct FailedAttempt {
  // Of the attempt that failed, from 1.
  int number = 1;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  Reason reason = Reason::kNone;
  // grpc-retry-pushback-ms: the least wait; negative = do not retry.
  std::optional<std::chrono::milliseconds> pushback{};
  // RetryInfo of the answer.
  std::optional<std::chrono::milliseconds> retry_delay{};
  // Left until the deadline of the whole call.
  std::chrono::milliseconds remaining{0};
  // In [0, 1).
  double random = 0;
};

// Whether waiting and repeating the same call can help. Decided by reason; without
// one UNAVAILABLE and DEADLINE_EXCEEDED count.
bool MayRetry(absl::StatusCode code, Reason reason);

// Wait after that many failures in a row, from 1.
std::chrono::milliseconds BackoffAfter(const RetryOptions& options, int failures, double random);

// How long to wait before the next attempt, never less than the server asked for;
// none when there is to be no other. Pure.
std::optional<std::chrono::milliseconds> NextAttemptAfter(const RetryOptions& options,
                                                          const FailedAttempt& attempt);

}  // namespace snowlease::client
