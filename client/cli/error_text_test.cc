#include "client/cli/error_text.h"

#include <sstream>

#include "client/cli/exit_codes.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "snowlease/grpc.h"

namespace snowlease::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status Error(absl::StatusCode code, const std::string& reason,
                   const std::map<std::string, std::string>& metadata = {}) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(code));
  status.set_message("what happened");
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("snowlease");
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  status.add_details()->PackFrom(info);
  return client::FromRpcStatus(status);
}

TEST(ExitCodesTest, ScriptsCanTellWhatToDo) {
  using Code = absl::StatusCode;
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(Error(Code::kFailedPrecondition, "MACHINE_ID_LOST")), 3);
  for (const char* reason : {"STORE_UNAVAILABLE", "STORE_TIMEOUT", "DRAINING", "OVERLOADED"}) {
    EXPECT_EQ(ExitCodeOf(Error(Code::kUnavailable, reason)), 75) << reason;
  }
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("connection refused")), 75);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 75);
  EXPECT_EQ(ExitCodeOf(Error(Code::kFailedPrecondition, "WINDOW_OPEN")), 75);
  EXPECT_EQ(ExitCodeOf(Error(Code::kFailedPrecondition, "STORE_RESET")), 75);
  for (const char* reason : {"INVALID_ARGUMENT", "MACHINE_ID_OVERFLOW", "CLOCK_SKEW", "NOT_FOUND",
                             "ADMIN_DISABLED", "NAMESPACE_POLICY", "INTERNAL"}) {
    EXPECT_EQ(ExitCodeOf(Error(Code::kFailedPrecondition, reason)), 1) << reason;
  }
}

TEST(ErrorTextTest, HandshakesThatFailSayWhereToLook) {
  EXPECT_THAT(DescribeError(absl::UnavailableError("Ssl handshake failed: SSL_ERROR_SSL: error:"
                                                   "0A000086:SSL routines::certificate verify "
                                                   "failed"),
                            "a:1"),
              HasSubstr("snowlease doctor"));
  EXPECT_THAT(DescribeError(absl::UnavailableError("Ssl handshake failed: SSL_ERROR_SSL: error:"
                                                   "0A00010B:SSL routines::wrong version number"),
                            "a:1"),
              HasSubstr("leave out --tls"));
  EXPECT_THAT(DescribeError(absl::UnavailableError("Socket closed"), "a:1"),
              HasSubstr("add --tls"));
}

TEST(ErrorTextTest, NamesReasonMessageAndFix) {
  EXPECT_EQ(DescribeError(Error(absl::StatusCode::kPermissionDenied, "ADMIN_DISABLED"), "a:1"),
            "ADMIN_DISABLED: what happened\n  fix: start the server with --admin-enabled");
  EXPECT_THAT(DescribeError(absl::UnavailableError("Connection refused"), "a:1"),
              AllOf(HasSubstr("Connection refused"), HasSubstr("a:1"), HasSubstr("--server"),
                    HasSubstr("scripts/run")));
  EXPECT_THAT(DescribeError(Error(absl::StatusCode::kFailedPrecondition, "MACHINE_ID_LOST",
                                  {{"cause", "TAKEN_OVER"}}),
                            "a:1"),
              HasSubstr("MACHINE_ID_LOST (TAKEN_OVER)"));
  EXPECT_THAT(DescribeError(Error(absl::StatusCode::kFailedPrecondition, "WINDOW_OPEN",
                                  {{"until", "1592918250192"}}),
                            "a:1"),
              HasSubstr("wait until 2020-06-23T13:17:30.192Z"));
  EXPECT_THAT(DescribeError(Error(absl::StatusCode::kFailedPrecondition, "WINDOW_OPEN"), "a:1"),
              HasSubstr("force-release"));
}

TEST(ErrorTextTest, ListsAllRefusedFields) {
  google::rpc::Status status;
  status.set_code(3);
  google::rpc::BadRequest bad_request;
  for (const char* field : {"namespace", "machine_bits"}) {
    auto* violation = bad_request.add_field_violations();
    violation->set_field(field);
    violation->set_description("is wrong");
  }
  status.add_details()->PackFrom(bad_request);
  EXPECT_THAT(DescribeError(client::FromRpcStatus(status), "a:1"),
              HasSubstr("\n  namespace: is wrong\n  machine_bits: is wrong"));
}

}  // namespace
}  // namespace snowlease::cli
