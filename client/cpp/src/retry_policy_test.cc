#include "snowlease/retry_policy.h"

#include "gtest/gtest.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;

FailedAttempt Unavailable() {
  return {.code = absl::StatusCode::kUnavailable, .remaining = milliseconds(60000), .random = 0.5};
}

TEST(RetryPolicyTest, ReasonDecides) {
  const auto retried = [](absl::StatusCode code, Reason reason) {
    FailedAttempt attempt = Unavailable();
    attempt.code = code;
    attempt.reason = reason;
    return NextAttemptAfter({}, attempt).has_value();
  };
  using Code = absl::StatusCode;
  EXPECT_TRUE(retried(Code::kUnavailable, Reason::kStoreUnavailable));
  EXPECT_TRUE(retried(Code::kUnavailable, Reason::kStoreTimeout));
  EXPECT_TRUE(retried(Code::kUnavailable, Reason::kDraining));
  EXPECT_TRUE(retried(Code::kUnavailable, Reason::kOverloaded));
  EXPECT_TRUE(retried(Code::kUnavailable, Reason::kNone));
  EXPECT_TRUE(retried(Code::kDeadlineExceeded, Reason::kNone));
  for (const Reason reason :
       {Reason::kInvalidArgument, Reason::kPageTokenInvalid, Reason::kMachineIdOverflow,
        Reason::kCapExceeded, Reason::kMachineIdLost, Reason::kClockSkew, Reason::kClockBehind,
        Reason::kWindowOpen, Reason::kNamespacePolicy, Reason::kIncarnationReused,
        Reason::kNamespaceNotEmpty, Reason::kStoreReset, Reason::kNotFound, Reason::kAdminDisabled,
        Reason::kPermissionDenied, Reason::kUnauthenticated, Reason::kInternal}) {
    // The code may say what it likes.
    EXPECT_FALSE(retried(Code::kUnavailable, reason)) << static_cast<int>(reason);
  }
  for (const Code code : {Code::kCancelled, Code::kUnknown, Code::kInvalidArgument, Code::kInternal,
                          Code::kFailedPrecondition, Code::kResourceExhausted, Code::kUnimplemented,
                          Code::kPermissionDenied}) {
    EXPECT_FALSE(retried(code, Reason::kNone)) << static_cast<int>(code);
  }
}

TEST(RetryPolicyTest, StopsAfterTheLastAttempt) {
  FailedAttempt attempt = Unavailable();
  attempt.number = 4;
  EXPECT_TRUE(NextAttemptAfter({}, attempt));
  attempt.number = 5;
  EXPECT_FALSE(NextAttemptAfter({}, attempt));
  attempt.number = 1;
  EXPECT_FALSE(NextAttemptAfter({.max_attempts = 1}, attempt));
}

// F46: how long a restart may take.
TEST(RetryPolicyTest, DefaultsOutlastARestartEvenWithTheShortestWaits) {
  milliseconds waited(0);
  for (int number = 1; number < RetryOptions().max_attempts; ++number) {
    waited += BackoffAfter({}, number, /*random=*/0);
  }
  EXPECT_GE(waited, milliseconds(1800));
}

TEST(RetryPolicyTest, BackoffDoublesUpToItsCapWithJitter) {
  const RetryOptions options{.initial_backoff = milliseconds(100),
                             .max_backoff = milliseconds(1000)};
  EXPECT_EQ(BackoffAfter(options, 1, 0.5), milliseconds(100));
  EXPECT_EQ(BackoffAfter(options, 2, 0.5), milliseconds(200));
  EXPECT_EQ(BackoffAfter(options, 3, 0.5), milliseconds(400));
  EXPECT_EQ(BackoffAfter(options, 5, 0.5), milliseconds(1000));
  EXPECT_EQ(BackoffAfter(options, 1'000'000, 0.5), milliseconds(1000));
  EXPECT_EQ(BackoffAfter(options, 1, 0), milliseconds(50));
  EXPECT_EQ(BackoffAfter(options, 1, 0.99), milliseconds(149));
}

TEST(RetryPolicyTest, PushbackIsTheLeastWait) {
  FailedAttempt attempt = Unavailable();
  attempt.reason = Reason::kOverloaded;
  attempt.pushback = milliseconds(700);
  for (const double random : {0.0, 0.5, 0.99}) {
    attempt.random = random;
    const auto wait = NextAttemptAfter({}, attempt);
    ASSERT_TRUE(wait);
    EXPECT_GE(*wait, milliseconds(700));
    EXPECT_LE(*wait, milliseconds(840));
  }
  attempt.pushback = milliseconds(0);
  EXPECT_EQ(NextAttemptAfter({}, attempt), milliseconds(0));
  attempt.pushback = milliseconds(-1);
  EXPECT_FALSE(NextAttemptAfter({}, attempt));
}

TEST(RetryPolicyTest, RetryInfoIsTheLeastWait) {
  FailedAttempt attempt = Unavailable();
  attempt.retry_delay = milliseconds(900);
  EXPECT_GE(NextAttemptAfter({}, attempt), milliseconds(900));
  attempt.retry_delay = milliseconds(1);
  EXPECT_EQ(NextAttemptAfter({}, attempt), milliseconds(250));
}

TEST(RetryPolicyTest, WaitThatReachesTheDeadlineIsNotBegun) {
  FailedAttempt attempt = Unavailable();
  attempt.remaining = milliseconds(251);
  EXPECT_TRUE(NextAttemptAfter({}, attempt));
  attempt.remaining = milliseconds(250);
  EXPECT_FALSE(NextAttemptAfter({}, attempt));
  attempt.remaining = milliseconds(-5);
  EXPECT_FALSE(NextAttemptAfter({}, attempt));
}

TEST(RetryPolicyTest, StoreResetIsRetriedAfterItsQuarantineOnly) {
  FailedAttempt attempt = Unavailable();
  attempt.code = absl::StatusCode::kFailedPrecondition;
  attempt.reason = Reason::kStoreReset;
  EXPECT_FALSE(NextAttemptAfter({}, attempt));
  attempt.retry_delay = milliseconds(2000);
  EXPECT_GE(NextAttemptAfter({}, attempt), milliseconds(2000));
  attempt.retry_delay = milliseconds(600000);
  EXPECT_FALSE(NextAttemptAfter({}, attempt));
}

}  // namespace
}  // namespace snowlease::client
