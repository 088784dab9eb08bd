#include "snowlease/errors.h"

#include "client/cpp/src/health.h"
#include "gmock/gmock.h"
#include "google/protobuf/duration.pb.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "snowlease/client.h"
#include "snowlease/grpc.h"
#include "snowlease/v1/error_reason.pb.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;

google::rpc::Status WithInfo(absl::StatusCode code, const std::string& reason,
                             const std::map<std::string, std::string>& metadata = {},
                             const std::string& domain = "snowlease") {
  google::rpc::Status status;
  status.set_code(static_cast<int>(code));
  status.set_message("what happened");
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(domain);
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  status.add_details()->PackFrom(info);
  return status;
}

TEST(ErrorsTest, EveryReasonOfTheApiIsKnownByName) {
  const auto* descriptor = v1::ErrorReason_descriptor();
  for (int i = 1; i < descriptor->value_count(); ++i) {
    const std::string name = descriptor->value(i)->name().substr(sizeof("ERROR_REASON_") - 1);
    const auto status = FromRpcStatus(WithInfo(absl::StatusCode::kInternal, name));
    EXPECT_EQ(static_cast<int>(ReasonOf(status)), descriptor->value(i)->number()) << name;
    EXPECT_EQ(ReasonName(ReasonOf(status)), name);
  }
  EXPECT_EQ(static_cast<int>(Reason::kInternal), descriptor->value_count() - 1);
}

TEST(ErrorsTest, EveryLossCauseOfTheApiIsKnownByName) {
  const auto* descriptor = v1::LossCause_descriptor();
  for (int i = 1; i < descriptor->value_count(); ++i) {
    const std::string name = descriptor->value(i)->name().substr(sizeof("LOSS_CAUSE_") - 1);
    const auto status = FromRpcStatus(
        WithInfo(absl::StatusCode::kFailedPrecondition, "MACHINE_ID_LOST", {{"cause", name}}));
    EXPECT_EQ(static_cast<int>(LossCauseOf(status)), descriptor->value(i)->number()) << name;
    EXPECT_EQ(LossCauseName(LossCauseOf(status)), name);
  }
}

TEST(ErrorsTest, UnknownCauseIsStillALoss) {
  const auto status = FromRpcStatus(
      WithInfo(absl::StatusCode::kFailedPrecondition, "MACHINE_ID_LOST", {{"cause", "EATEN"}}));
  EXPECT_EQ(LossCauseOf(status), LossCause::kUnknown);
}

TEST(ErrorsTest, StatusWithoutReasonHasNone) {
  for (const auto& status :
       {absl::OkStatus(), absl::UnavailableError("connection refused"),
        FromRpcStatus(WithInfo(absl::StatusCode::kInternal, "OVERLOADED", {}, "elsewhere")),
        FromRpcStatus(WithInfo(absl::StatusCode::kInternal, "OF_A_LATER_VERSION"))}) {
    EXPECT_EQ(ReasonOf(status), Reason::kNone) << status;
    EXPECT_EQ(LossCauseOf(status), LossCause::kNone);
    EXPECT_EQ(ReasonName(ReasonOf(status)), "");
  }
}

TEST(ErrorsTest, DetailsAreReadable) {
  google::rpc::Status rpc = WithInfo(absl::StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field("machine_bits");
  violation->set_description("is 1..30");
  rpc.add_details()->PackFrom(bad_request);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  retry.mutable_retry_delay()->set_nanos(5'000'000);
  rpc.add_details()->PackFrom(retry);
  const absl::Status status = FromRpcStatus(rpc);
  EXPECT_EQ(status.message(), "what happened");
  const auto violations = FieldViolationsOf(status);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "machine_bits");
  EXPECT_EQ(violations[0].description, "is 1..30");
  EXPECT_EQ(RetryDelayOf(status), milliseconds(2005));
  EXPECT_THAT(MetadataOf(FromRpcStatus(WithInfo(absl::StatusCode::kFailedPrecondition,
                                                "WINDOW_OPEN", {{"until", "17"}}))),
              ElementsAre(Pair("until", "17")));
}

TEST(ErrorsTest, ErrorWithoutACodeIsNotSuccess) {
  google::rpc::Status status;
  EXPECT_FALSE(FromRpcStatus(status).ok());
  status.set_code(99);
  EXPECT_FALSE(FromRpcStatus(status).ok());
}

TEST(ErrorsTest, RetryableIsDecidedByReason) {
  using Code = absl::StatusCode;
  EXPECT_TRUE(IsRetryable(absl::UnavailableError("")));
  EXPECT_TRUE(IsRetryable(absl::DeadlineExceededError("")));
  EXPECT_TRUE(IsRetryable(FromRpcStatus(WithInfo(Code::kUnavailable, "DRAINING"))));
  EXPECT_FALSE(IsRetryable(absl::OkStatus()));
  EXPECT_FALSE(IsRetryable(FromRpcStatus(WithInfo(Code::kFailedPrecondition, "MACHINE_ID_LOST"))));
  EXPECT_FALSE(IsRetryable(FromRpcStatus(WithInfo(Code::kUnavailable, "MACHINE_ID_OVERFLOW"))));
}

TEST(EndpointTest, AddressesAreHostAndPort) {
  for (const char* good :
       {"127.0.0.1:7070", "localhost:1", "[::1]:7070", "a-b.example.org:65535"}) {
    EXPECT_TRUE(NewChannel(good, {}).ok()) << good;
  }
  for (const char* bad : {"", "localhost", "localhost:", ":7070", "localhost:0", "localhost:65536",
                          "::1:7070", "http://localhost:7070", "local host:1", "[::1]", "a:b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(NewChannel(bad, {}).status())) << bad;
  }
}

TEST(HealthTest, OnlyServingIsHealthy) {
  const auto answer = [](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    return HealthAnswer(grpc::ByteBuffer(&slice, 1));
  };
  EXPECT_TRUE(answer("\x08\x01").ok());
  EXPECT_TRUE(absl::IsUnavailable(answer("\x08\x02")));
  EXPECT_TRUE(absl::IsUnavailable(answer("")));
}

TEST(IdentityTest, IncarnationsDiffer) {
  EXPECT_EQ(NewIncarnationId().size(), 16u);
  EXPECT_NE(NewIncarnationId(), NewIncarnationId());
}

// F01: neither the address nor the pid alone tells two containers apart.
TEST(IdentityTest, DefaultInstanceIdsOfOneProcessDiffer) {
  EXPECT_NE(DefaultInstanceId(), DefaultInstanceId());
  EXPECT_LE(DefaultInstanceId().size(), 200u);
}

}  // namespace
}  // namespace snowlease::client
