#include "service/rpc/status_table.h"

#include <gmock/gmock.h>

#include "google/rpc/error_details.pb.h"
#include "snowlease/v1/error_reason.pb.h"

namespace snowlease::service {
namespace {

using storage::Millis;
using storage::Reason;

template <typename Detail>
std::optional<Detail> DetailOf(const google::rpc::Status& status) {
  for (const auto& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

struct Row {
  absl::Status error;
  const char* reason;
  grpc::StatusCode code;
};

std::vector<Row> AllErrors() {
  storage::NamespaceRow row;
  row.name = "orders";
  const storage::GrantKey grant{"orders", 7, "orders-1", 3};
  return {
      {storage::InvalidArgumentError({{"token", "is required"}}), "INVALID_ARGUMENT",
       grpc::INVALID_ARGUMENT},
      {storage::PageTokenInvalidError(), "PAGE_TOKEN_INVALID", grpc::INVALID_ARGUMENT},
      {storage::MachineIdOverflowError(row, 4, storage::StoreTime{9}, storage::StoreTime{5}, false),
       "MACHINE_ID_OVERFLOW", grpc::RESOURCE_EXHAUSTED},
      {storage::CapExceededError("orders", 4, 4), "CAP_EXCEEDED", grpc::RESOURCE_EXHAUSTED},
      {storage::MachineIdLostError(storage::EndCause::kTakenOver, grant), "MACHINE_ID_LOST",
       grpc::FAILED_PRECONDITION},
      {storage::ClockSkewError(Millis(70'000), Millis(60'000)), "CLOCK_SKEW",
       grpc::FAILED_PRECONDITION},
      {storage::ClockBehindError("orders", {9}, Millis(4), false), "CLOCK_BEHIND",
       grpc::FAILED_PRECONDITION},
      {storage::WindowOpenError("orders", 7, storage::ClientTime{9}, Millis(4)), "WINDOW_OPEN",
       grpc::FAILED_PRECONDITION},
      {storage::NamespacePolicyError("orders", "no"), "NAMESPACE_POLICY",
       grpc::FAILED_PRECONDITION},
      {storage::IncarnationReusedError("orders-1"), "INCARNATION_REUSED",
       grpc::FAILED_PRECONDITION},
      {storage::NamespaceNotEmptyError(row, 1), "NAMESPACE_NOT_EMPTY", grpc::FAILED_PRECONDITION},
      {storage::StoreResetError(Millis(1500)), "STORE_RESET", grpc::FAILED_PRECONDITION},
      {storage::StoreUnavailableError("down"), "STORE_UNAVAILABLE", grpc::UNAVAILABLE},
      {storage::StoreTimeoutError("slow"), "STORE_TIMEOUT", grpc::UNAVAILABLE},
      {storage::DrainingError(), "DRAINING", grpc::UNAVAILABLE},
      {storage::OverloadedError("queue full", Millis(250)), "OVERLOADED", grpc::UNAVAILABLE},
      {storage::NotFoundError("no such namespace"), "NOT_FOUND", grpc::NOT_FOUND},
      {storage::AdminDisabledError(), "ADMIN_DISABLED", grpc::PERMISSION_DENIED},
      {storage::PermissionDeniedError("no"), "PERMISSION_DENIED", grpc::PERMISSION_DENIED},
      {storage::UnauthenticatedError("who"), "UNAUTHENTICATED", grpc::UNAUTHENTICATED},
      {storage::InternalError("bug"), "INTERNAL", grpc::INTERNAL},
  };
}

TEST(StatusTableTest, EveryReasonHasItsCodeAndErrorInfo) {
  // All of the API's reasons but UNSPECIFIED are in the list.
  ASSERT_EQ(AllErrors().size(), size_t{v1::ErrorReason_ARRAYSIZE} - 1);
  for (const Row& row : AllErrors()) {
    const google::rpc::Status status = ToRpcStatus(row.error);
    EXPECT_EQ(status.code(), row.code) << row.reason;
    EXPECT_FALSE(status.message().empty()) << row.reason;
    const auto info = DetailOf<google::rpc::ErrorInfo>(status);
    ASSERT_TRUE(info.has_value()) << row.reason;
    EXPECT_EQ(info->reason(), row.reason);
    EXPECT_EQ(info->domain(), "snowlease");
    v1::ErrorReason parsed;
    EXPECT_TRUE(v1::ErrorReason_Parse("ERROR_REASON_" + info->reason(), &parsed)) << row.reason;
  }
}

TEST(StatusTableTest, UnavailableNeverMeansLostNorTheOtherWayRound) {
  for (const Row& row : AllErrors()) {
    const bool lost = std::string(row.reason) == "MACHINE_ID_LOST";
    EXPECT_FALSE(lost && row.code == grpc::UNAVAILABLE);
  }
}

TEST(StatusTableTest, ForeignStatusIsInternal) {
  const google::rpc::Status status = ToRpcStatus(absl::UnavailableError("from a library"));
  EXPECT_EQ(status.code(), grpc::INTERNAL);
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->reason(), "INTERNAL");
}

TEST(StatusTableTest, OkHasNoDetails) {
  EXPECT_EQ(ToRpcStatus(absl::OkStatus()).details_size(), 0);
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(StatusTableTest, LossCarriesItsCause) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToRpcStatus(
      storage::MachineIdLostError(storage::EndCause::kSuperseded, {"orders", 7, "orders-1", 3})));
  EXPECT_EQ(info->metadata().at("cause"), "SUPERSEDED");
}

TEST(StatusTableTest, BadRequestHasEveryViolation) {
  const auto bad = DetailOf<google::rpc::BadRequest>(
      ToRpcStatus(storage::InvalidArgumentError({{"token", "is required"}, {"window", "is 0"}})));
  ASSERT_EQ(bad->field_violations_size(), 2);
  EXPECT_EQ(bad->field_violations(1).field(), "window");
  EXPECT_EQ(bad->field_violations(1).description(), "is 0");
}

TEST(StatusTableTest, RetryInfoWhereWaitingHelps) {
  const auto retry =
      DetailOf<google::rpc::RetryInfo>(ToRpcStatus(storage::StoreResetError(Millis(1500))));
  ASSERT_TRUE(retry.has_value());
  EXPECT_EQ(retry->retry_delay().seconds(), 1);
  EXPECT_EQ(retry->retry_delay().nanos(), 500'000'000);
  EXPECT_FALSE(DetailOf<google::rpc::RetryInfo>(ToRpcStatus(storage::DrainingError())).has_value());
}

TEST(StatusTableTest, OnlyOverloadedHasAPushback) {
  for (const Row& row : AllErrors()) {
    const bool overloaded = std::string(row.reason) == "OVERLOADED";
    EXPECT_EQ(PushbackOf(row.error).has_value(), overloaded) << row.reason;
  }
  EXPECT_EQ(PushbackOf(storage::OverloadedError("queue full", Millis(250))), "250");
}

TEST(StatusTableTest, GrpcStatusCarriesTheDetails) {
  const grpc::Status status = ToGrpcStatus(storage::DrainingError());
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), status.error_code());
  EXPECT_EQ(details.message(), status.error_message());
}

// gRPC clients drop a status whose trailing metadata is above 8 KiB.
TEST(StatusTableTest, LongErrorsStayWithinTrailingMetadata) {
  std::vector<storage::FieldViolation> violations(
      100, {"instance_id", std::string(200, '%') + "\xFF is not UTF-8"});
  const grpc::Status status = ToGrpcStatus(storage::InvalidArgumentError(violations));
  const size_t worst = status.error_message().size() * 3 + status.error_details().size() * 4 / 3;
  EXPECT_LT(worst, 8000u);
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
}

}  // namespace
}  // namespace snowlease::service
