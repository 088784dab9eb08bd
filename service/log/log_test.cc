#include "service/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snowlease::service {
namespace {

TEST(LogTest, FieldsAreWrittenAsTextAndAsJson) {
  const std::string payload = LogPayload("serving", {{"grpc", "127.0.0.1:7070"}, {"note", "a b"}});
  EXPECT_EQ(PayloadAsText(payload), "serving grpc=127.0.0.1:7070 note=\"a b\"");
  EXPECT_EQ(PayloadAsJson(payload),
            "\"message\":\"serving\",\"grpc\":\"127.0.0.1:7070\",\"note\":\"a b\"");
}

TEST(LogTest, HostileValuesForgeNeitherLinesNorFields) {
  const std::string payload = LogPayload("x\ny", {{"k", "a\n\x1ez\x1f\"\\"}, {"empty", ""}});
  EXPECT_EQ(PayloadAsText(payload), "\"x\\ny\" k=\"a\\n?z?\\\"\\\\\" empty=\"\"");
  EXPECT_EQ(PayloadAsJson(payload),
            "\"message\":\"x\\ny\",\"k\":\"a\\n?z?\\\"\\\\\",\"empty\":\"\"");
}

TEST(LogTest, JsonKeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(JsonQuoted("h\xC3\xA9 \xF0\x9F\x8E\x89"), "\"h\xC3\xA9 \xF0\x9F\x8E\x89\"");
  EXPECT_EQ(JsonQuoted("\xC0\x80|\xED\xA0\x80|\xFF|\xC3"),
            "\"\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd|\\ufffd\"");
  EXPECT_EQ(JsonQuoted(std::string_view("\0\x7f", 2)), "\"\\u0000\\u007f\"");
}

TEST(LogTest, LinesGoToStandardErrorFromTheLevelOn) {
  StartLogging(LogLevel::kWarn, LogFormat::kJson);
  testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "hidden");
  Log(LogLevel::kError, "shown", {{"a", "1"}});
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, testing::MatchesRegex("\\{\"time\":\"[-0-9]+T[:.0-9]+Z\",\"level\":\"error\","
                                           "\"message\":\"shown\",\"a\":\"1\"\\}\n"));
}

}  // namespace
}  // namespace snowlease::service
