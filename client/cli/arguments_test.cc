#include "client/cli/arguments.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ArgumentsTest, NumbersAreDecimalAndInRange) {
  EXPECT_EQ(*ParseNumber("18446744073709551615", 0, std::numeric_limits<uint64_t>::max()),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*ParseNumber("010", 0, 100), 10u) << "no octal";
  for (const char* text :
       {"", "-1", "+1", "1.5", "0x10", "ten", " 1", "18446744073709551616", "101"}) {
    EXPECT_FALSE(ParseNumber(text, 0, 100).ok()) << text;
  }
  EXPECT_THAT(ParseNumber("0", 1, 30).status().message(), HasSubstr("from 1 to 30"));
}

TEST(ArgumentsTest, DurationsHaveAUnit) {
  EXPECT_EQ(*ParseDuration("0"), 0);
  EXPECT_EQ(*ParseDuration("1500ms"), 1500);
  EXPECT_EQ(*ParseDuration("30s"), 30'000);
  EXPECT_EQ(*ParseDuration("1.5m"), 90'000);
  EXPECT_EQ(*ParseDuration("24h"), 86'400'000);
  EXPECT_EQ(*ParseDuration("0.1s"), 100);
  for (const char* text :
       {"", "30", "s", "-1s", "1 s", "1d", "1.2.3s", "0.5ms", "9999999h", "1e3s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(ArgumentsTest, DurationsAreWrittenInTheirLargestUnit) {
  EXPECT_EQ(FormatDuration(ToDuration(0)), "0");
  EXPECT_EQ(FormatDuration(ToDuration(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(ToDuration(30'000)), "30s");
  EXPECT_EQ(FormatDuration(ToDuration(300'000)), "5m");
  EXPECT_EQ(FormatDuration(ToDuration(86'400'000)), "24h");
}

TEST(ArgumentsTest, TimestampsAreMsOrWords) {
  EXPECT_EQ(*ParseTimestamp("1592918250192", 7), 1592918250192);
  EXPECT_EQ(*ParseTimestamp("now", 7), 7);
  EXPECT_EQ(*ParseTimestamp("none", 7), 0);
  for (const char* text : {"", "-1", "2020-06-23", "9223372036854775808"}) {
    EXPECT_FALSE(ParseTimestamp(text, 7).ok()) << text;
  }
  EXPECT_EQ(FormatTime(1592918250192), "2020-06-23T13:17:30.192Z");
  EXPECT_EQ(FormatMark(0), "none");
}

TEST(ArgumentsTest, PairsKeepWhatFollowsTheFirstEqualsSign) {
  EXPECT_THAT(*ParsePairs({"a=1", "b=x=y", "c="}),
              ElementsAre(Pair("a", "1"), Pair("b", "x=y"), Pair("c", "")));
  EXPECT_FALSE(ParsePairs({"a"}).ok());
  EXPECT_FALSE(ParsePairs({"=1"}).ok());
  EXPECT_FALSE(ParsePairs({"a=1", "a=2"}).ok());
}

TEST(ArgumentsTest, MachineIdsAndRanges) {
  EXPECT_THAT(*ParseMachineIds({"3", "10-12", "0"}), ElementsAre(3, 10, 11, 12, 0));
  EXPECT_EQ(ParseMachineIds({"0-4095"})->size(), 4096u);
  for (const char* text : {"", "-", "3-", "-3", "5-3", "a", "1073741824", "0-4096"}) {
    EXPECT_FALSE(ParseMachineIds({text}).ok()) << text;
  }
}

TEST(ArgumentsTest, TheShellReadsQuotedTextBack) {
  EXPECT_EQ(ShellQuote("host:1:ab_c-d.e"), "host:1:ab_c-d.e");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace snowlease::cli
