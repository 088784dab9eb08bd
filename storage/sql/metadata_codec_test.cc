#include "storage/sql/metadata_codec.h"

#include <gtest/gtest.h>

namespace snowlease::storage {
namespace {

TEST(MetadataCodec, AnyBytesComeBack) {
  const Metadata metadata = {{"host", "a:b"},
                             {"", "empty key"},
                             {"3:abc", "0:"},
                             {"nul", std::string("x\0y", 3)},
                             {"emoji", "\xF0\x9F\x90\x9D"},
                             {"empty", ""}};
  EXPECT_EQ(DecodeMetadata(EncodeMetadata(metadata)), metadata);
  EXPECT_EQ(DecodeMetadata(EncodeMetadata({})), Metadata{});
}

TEST(MetadataCodec, DamagedTextIsToldFromEmptyMetadata) {
  const std::string whole = EncodeMetadata({{"key", "value"}});
  for (size_t length = 1; length < whole.size(); ++length) {
    EXPECT_EQ(DecodeMetadata(whole.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_EQ(DecodeMetadata("{\"key\":\"value\"}"), std::nullopt);
  EXPECT_EQ(DecodeMetadata("99999999999999999999999:x"), std::nullopt);
  EXPECT_EQ(DecodeMetadata("-1:x"), std::nullopt);
}

}  // namespace
}  // namespace snowlease::storage
