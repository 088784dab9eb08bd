#include "client/cli/cli_run_for_tests.h"
#include "client/cpp/src/scripted_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class CliCallsTest : public ::testing::Test {
 protected:
  CliRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_.address()});
    return RunWith(arguments);
  }

  void Fail(int times, const google::rpc::Status& status) {
    for (int i = 0; i < times; ++i) {
      server_.Then([status](grpc::ServerContext*) { return client::ToGrpc(status); });
    }
  }

  v1::ClaimRequest OnlyClaim() const {
    v1::ClaimRequest request;
    EXPECT_THAT(server_.requests(), SizeIs(1));
    EXPECT_TRUE(request.ParseFromString(server_.requests().at(0)));
    return request;
  }

  client::ScriptedServer server_;
  const std::vector<std::string> renew_ = {"renew", "-n", "orders", "-m", "7",
                                           "-i",    "x",  "-t",     "2"};
};

TEST_F(CliCallsTest, ClaimPrintsTheLeaseAndHowToGoOn) {
  const CliRun run = Run({"claim", "orders", "--instance", "host 1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("MACHINE_ID"));
  EXPECT_THAT(run.err, HasSubstr("snowlease renew --server " + server_.address()));
  EXPECT_THAT(run.err, HasSubstr("snowlease release"));
}

TEST_F(CliCallsTest, DataForProgramsComesWithoutTalk) {
  const CliRun run = Run({"claim", "orders", "-o", "json"});
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, "{\n  \"lease\": {\n    \"machineId\": 7\n  }\n}\n");
  EXPECT_THAT(Run({"claim", "orders", "--no-headers"}).out, Not(HasSubstr("MACHINE_ID")));
}

TEST_F(CliCallsTest, ClaimSendsWhatWasAsked) {
  Run({"claim", "-n", "orders", "-i", "x", "-b", "12", "--stable", "--safe-guard", "90s",
       "--window", "1500ms", "--comeback", "keep", "--max-wait", "2s", "--metadata", "a=1", "b=2"});
  const v1::ClaimRequest request = OnlyClaim();
  EXPECT_EQ(request.namespace_(), "orders");
  EXPECT_EQ(request.instance_id(), "x");
  EXPECT_EQ(request.incarnation_id().size(), 16u);
  EXPECT_EQ(request.machine_bits(), 12u);
  EXPECT_TRUE(request.stable());
  EXPECT_EQ(request.safe_guard_duration().seconds(), 90);
  EXPECT_EQ(request.window().nanos(), 500'000'000);
  EXPECT_EQ(request.comeback_mode(), v1::COMEBACK_MODE_KEEP);
  EXPECT_EQ(request.max_wait().seconds(), 2);
  EXPECT_EQ(request.metadata().at("b"), "2");
  EXPECT_GT(request.client_time_ms(), 1577203200000);
}

TEST_F(CliCallsTest, ClaimLeavesTheDefaultsToTheServer) {
  Run({"claim", "orders"});
  const v1::ClaimRequest request = OnlyClaim();
  EXPECT_FALSE(request.has_safe_guard_duration());
  EXPECT_FALSE(request.has_window());
  EXPECT_EQ(request.comeback_mode(), v1::COMEBACK_MODE_UNSPECIFIED);
  EXPECT_EQ(request.machine_bits(), 10u);
  EXPECT_NE(request.instance_id(), "");
}

TEST_F(CliCallsTest, LostLeaseIsExitCodeThree) {
  Fail(1, client::ErrorWith(grpc::FAILED_PRECONDITION, "MACHINE_ID_LOST", {{"cause", "REVOKED"}}));
  const CliRun run = Run(renew_);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("MACHINE_ID_LOST (REVOKED)"));
}

TEST_F(CliCallsTest, RetriesThenSaysTryAgain) {
  Fail(5, client::ErrorWith(grpc::UNAVAILABLE, "STORE_UNAVAILABLE"));
  const CliRun run = Run(renew_);
  EXPECT_EQ(run.exit_code, 75);
  EXPECT_THAT(run.err, HasSubstr("STORE_UNAVAILABLE"));
  EXPECT_THAT(server_.requests(), SizeIs(5));
}

TEST_F(CliCallsTest, ServerThatIsNoneOfOursIsSaidToBe) {
  const CliRun run = Run({"namespaces", "list"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("is it a Snowlease server"));
}

TEST_F(CliCallsTest, EnvironmentNamesTheServer) {
  setenv("SNOWLEASE_SERVER", server_.address().c_str(), 1);
  EXPECT_EQ(RunWith(renew_).exit_code, 0);
  unsetenv("SNOWLEASE_SERVER");
  EXPECT_THAT(server_.requests(), SizeIs(1));
}

}  // namespace
}  // namespace snowlease::cli
