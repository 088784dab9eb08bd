#include "storage/mysql/mysql_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/errors.h"
#include "storage/mysql/tuples.h"

namespace snowlease::storage::mysql {
namespace {

using ::testing::HasSubstr;

Reason ReasonFor(unsigned code) { return ReasonOf(MeaningOf(code, "text", "db:1").status()); }
AfterFailure AfterOf(unsigned code) { return MeaningOf(code, "text", "db:1").after(); }

TEST(MysqlErrors, CodesMeanWhatCallersCanDo) {
  EXPECT_EQ(AfterOf(1213), AfterFailure::kRepeat);
  EXPECT_EQ(AfterOf(1205), AfterFailure::kRepeatOnce);
  EXPECT_EQ(ReasonFor(1213), Reason::kStoreTimeout);
  for (const unsigned code : {2002u, 2006u, 2013u, 4031u, 1053u, 1927u, 1290u, 1836u, 1040u}) {
    EXPECT_EQ(AfterOf(code), AfterFailure::kLeave) << code;
    EXPECT_EQ(ReasonFor(code), Reason::kStoreUnavailable) << code;
  }
  for (const unsigned code : {1044u, 1045u, 1142u, 1049u, 1146u, 1021u, 1114u}) {
    EXPECT_EQ(AfterOf(code), AfterFailure::kGiveUp) << code;
    EXPECT_EQ(ReasonFor(code), Reason::kStoreUnavailable) << code;
  }
  EXPECT_EQ(ReasonFor(1969), Reason::kStoreTimeout);
  EXPECT_EQ(ReasonFor(3024), Reason::kStoreTimeout);
  // Our own mistakes: syntax, duplicate key.
  EXPECT_EQ(ReasonFor(1064), Reason::kInternal);
  EXPECT_EQ(ReasonFor(1062), Reason::kInternal);
}

TEST(MysqlErrors, MessageHasServerTextAndCode) {
  const std::string text = MeaningOf(1045, "Access denied", "db:1").status().ToString();
  EXPECT_THAT(text, HasSubstr("db:1: Access denied (code 1045); user and password"));
}

TEST(MysqlTuples, AnyBytesBecomeDigits) {
  EXPECT_EQ(Hex(std::string("a'\0\\\xff", 5)), "x'6127005cff'");
  EXPECT_EQ(Hex(""), "x''");
  Tuples values(Tuples::Style::kValues);
  values.Add(std::string("a'"), 1, std::optional<int>(), true);
  values.Add(std::string(), int64_t{-5}, std::optional<int>(7), false);
  EXPECT_EQ(values.text(), "(x'6127',1,NULL,1),(x'',-5,7,0)");
  Tuples json(Tuples::Style::kJson);
  EXPECT_EQ(json.text(), "[]");
  json.Add(std::string("a\""), StoreTime{3}, std::optional<ClientTime>(), Millis(4));
  EXPECT_EQ(json.text(), "[[\"6122\",3,null,4]]");
  EXPECT_EQ(json.count(), 1u);
}

}  // namespace
}  // namespace snowlease::storage::mysql
