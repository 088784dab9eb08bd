#include "service/rpc/page_token.h"

#include <gmock/gmock.h>

#include "tests/testing/matchers.h"

namespace snowlease::service {
namespace {

using storage::Reason;
using testing::HasReason;

TEST(PageTokenTest, GivesBackThePositionOfItsQuery) {
  for (const std::string& position :
       {std::string(), std::string("17"), std::string("a\0b", 3), std::string(200, 'n')}) {
    const auto decoded = DecodePageToken("query", EncodePageToken("query", position));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, position);
  }
}

TEST(PageTokenTest, IsBoundToItsQuery) {
  EXPECT_THAT(DecodePageToken("other", EncodePageToken("query", "17")),
              HasReason(Reason::kPageTokenInvalid));
}

TEST(PageTokenTest, EveryChangedByteIsNoticed) {
  const std::string token = EncodePageToken("query", "17");
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_THAT(DecodePageToken("query", changed), HasReason(Reason::kPageTokenInvalid)) << i;
  }
  EXPECT_THAT(DecodePageToken("query", token + "A"), HasReason(Reason::kPageTokenInvalid));
  EXPECT_THAT(DecodePageToken("query", token + "="), HasReason(Reason::kPageTokenInvalid));
}

TEST(PageTokenTest, RefusesWhatIsNoToken) {
  for (const std::string& token : {std::string("x"), std::string("!!!"), std::string("17"),
                                   std::string("\xFF\x00", 2), std::string(10'000, 'A')}) {
    EXPECT_THAT(DecodePageToken("query", token), HasReason(Reason::kPageTokenInvalid));
  }
}

TEST(PageTokenTest, QueryKeysKeepTheirPartsApart) {
  EXPECT_NE(QueryKey({"ab", "c"}), QueryKey({"a", "bc"}));
  EXPECT_NE(QueryKey({"1:a"}), QueryKey({"", "a"}));
}

}  // namespace
}  // namespace snowlease::service
