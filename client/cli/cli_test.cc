#include "client/cli/cli.h"

#include "client/cli/cli_run_for_tests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::cli {
namespace {

using ::testing::HasSubstr;

TEST(CliTest, HelpIsDataAndSucceeds) {
  const CliRun run = RunWith({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* word : {"claim", "namespaces", "doctor", "SNOWLEASE_SERVER", "75"}) {
    EXPECT_THAT(run.out, HasSubstr(word));
  }
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(RunWith({"leases", "force-release", "--help"}).exit_code, 0);
}

TEST(CliTest, VersionIsPrinted) {
  EXPECT_THAT(RunWith({"--version"}).out, HasSubstr("snowlease " SNOWLEASE_VERSION));
  EXPECT_EQ(RunWith({"version", "--no-headers"}).out, "snowlease  " SNOWLEASE_VERSION "\n");
}

TEST(CliTest, WrongUsageIsExitCodeTwoAndNamesTheOption) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "subcommand"},
      {{"explode"}, "explode"},
      {{"claim"}, "--namespace"},
      {{"claim", "a", "--bits", "31"}, "--bits"},
      {{"claim", "a", "--bits", "ten"}, "--bits"},
      {{"claim", "a", "--safe-guard", "300"}, "--safe-guard"},
      {{"claim", "a", "--comeback", "stay"}, "--comeback"},
      {{"claim", "a", "--metadata", "x"}, "--metadata"},
      {{"claim", "a", "--stable"}, "--instance"},
      {{"claim", "a", "--output", "xml"}, "--output"},
      {{"claim", "a", "--server", "nowhere"}, "nowhere"},
      {{"claim", "a", "--ca-file", "ca.pem"}, "--ca-file has no effect without --tls"},
      {{"claim", "a", "--tls", "--ca-file", "/nowhere.pem"}, "/nowhere.pem"},
      {{"claim", "a", "--tls", "--cert-file", "c"}, "--key-file"},
      {{"claim", "a", "--timeout", "0"}, "--timeout"},
      {{"renew", "-n", "a", "-m", "1", "-i", "x"}, "--token"},
      {{"renew", "-n", "a", "-m", "-1", "-i", "x", "-t", "1"}, "--machine-id"},
      {{"renew", "-n", "a", "-m", "1", "-i", "x", "-t", "1", "--last-timestamp", "soon"}, "soon"},
      {{"watermark", "-n", "a", "-m", "1", "--raise-to", "now"}, "--instance and --token"},
      {{"namespaces"}, "subcommand"},
      {{"namespaces", "burn"}, "'burn'"},
      {{"claim", "a", "--force"}, "--force"},
      {{"namespaces", "set", "a", "--reason", "r", "--create"}, "--bits"},
      {{"namespaces", "set", "a", "--reason", "r", "--lease-cap", "0"}, "--lease-cap"},
      {{"namespaces", "delete", "a"}, "--reason"},
      {{"leases", "list"}, "--namespace"},
      {{"leases", "reserve", "-n", "a", "x", "--reason", "r"}, "'x'"},
      {{"decode", "1", "--layout", "base58"}, "--layout"},
      {{"decode", "1", "--bits", "41/10"}, "41/10"},
      {{"decode", "1", "--bits", "42/10/12"}, "64"},
      {{"bench", "renew", "--bits", "4"}, "--leases"},
      {{"bench", "renew", "--outstanding", "0"}, "--outstanding"},
      {{"bench", "renew", "--messages", "4"}, "--messages"},
      {{"completion", "tcsh"}, "tcsh"},
  };
  for (const auto& [arguments, named] : cases) {
    const CliRun run = RunWith(arguments);
    EXPECT_EQ(run.exit_code, 2) << named << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(named));
    EXPECT_EQ(run.out, "");
  }
}

TEST(CliTest, DestructiveCommandsAskOrNeedYes) {
  const std::vector<std::string> remove = {"namespaces", "delete",   "a",          "--reason",
                                           "r",          "--server", "127.0.0.1:1"};
  EXPECT_EQ(RunWith(remove).exit_code, 2);
  EXPECT_THAT(RunWith(remove).err, HasSubstr("--yes"));
  const CliRun refused = RunWith(remove, "no\n", /*terminal=*/true);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("nothing was done"));
  // Confirmed: goes on to the server, which is not there.
  EXPECT_EQ(RunWith(remove, "yes\n", /*terminal=*/true).exit_code, 75);
  EXPECT_EQ(
      RunWith({"leases", "force-release", "-n", "a", "1", "-t", "1", "--reason", "r"}).exit_code,
      2);
}

TEST(CliTest, AbsentServerIsTryAgainWithAFix) {
  const CliRun run = RunWith({"claim", "a", "--server", "127.0.0.1:1"});
  EXPECT_EQ(run.exit_code, 75);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("fix: start a server at 127.0.0.1:1"));
  EXPECT_EQ(RunWith({"doctor", "--server", "127.0.0.1:1"}).exit_code, 75);
  EXPECT_EQ(RunWith({"bench", "renew", "--server", "127.0.0.1:1"}).exit_code, 75);
  EXPECT_EQ(RunWith({"bench", "claim", "--server", "127.0.0.1:1"}).exit_code, 75);
}

TEST(CliTest, DecodeNeedsNoServer) {
  EXPECT_EQ(RunWith({"decode", "65913697880510466", "--no-headers"}).out,
            "65913697880510466  2020-06-23T13:17:30.192Z  1592918250192  1  2  "
            "20200623131730192-1-2\n");
  EXPECT_EQ(RunWith({"decode", "20200623131730192-1-2", "-o", "json"}).out,
            "{\n  \"id\": \"65913697880510466\",\n  \"time\": \"2020-06-23T13:17:30.192Z\",\n"
            "  \"timestampMs\": \"1592918250192\",\n  \"machineId\": 1,\n  \"sequence\": \"2\",\n"
            "  \"friendly\": \"20200623131730192-1-2\"\n}\n");
  EXPECT_THAT(RunWith({"decode", "0000000z00100zz", "--layout", "radix62", "-o", "yaml"}).out,
              HasSubstr("machineId: 62\n"));
  EXPECT_THAT(RunWith({"decode", "4294967297", "--layout", "snowflake", "--epoch", "0"}).err,
              HasSubstr("--layout"));
  EXPECT_THAT(RunWith({"decode", "4198402", "--epoch", "0", "--no-headers"}).out,
              HasSubstr("4198402  1970-01-01T00:00:00.001Z  1  1  2"));
  EXPECT_THAT(RunWith({"decode", "13", "--epoch", "0", "--bits", "41/2/2", "--no-headers"}).out,
              HasSubstr("13  1970-01-01T00:00:00.000Z  0  3  1"));
  // F04, F42
  for (const char* id : {"-5", "abc", "9223372036854775808", "20180101000000000-0-0"}) {
    EXPECT_EQ(RunWith({"decode", "--", id}).exit_code, 1) << id;
  }
}

}  // namespace
}  // namespace snowlease::cli
