#include "snowlease/codec.h"

#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Codec Make(const Layout& layout) {
  auto codec = Codec::Create(layout);
  EXPECT_TRUE(codec.ok()) << codec.status();
  return *codec;
}

const std::vector<std::pair<std::string, Layout>>& Layouts() {
  static const auto* const layouts = new std::vector<std::pair<std::string, Layout>>{
      {"snowflake-ms", Layout::SnowflakeMs()},
      {"snowflake-s", Layout::SnowflakeSeconds()},
      {"safe-js-ms", Layout::SafeJsMs()},
      {"safe-js-s", Layout::SafeJsSeconds()},
      {"radix62", Layout::Radix62()},
      {"one bit each", {.timestamp_bits = 1, .machine_bits = 1, .sequence_bits = 1}},
      {"63 bits", {.timestamp_bits = 42, .machine_bits = 11, .sequence_bits = 10}},
      {"20 machine bits", {.timestamp_bits = 41, .machine_bits = 20, .sequence_bits = 2}},
      {"radix62 of other bits",
       {.family = LayoutFamily::kRadix62,
        .timestamp_bits = 45,
        .machine_bits = 30,
        .sequence_bits = 61}},
  };
  return *layouts;
}

uint64_t Max(int bits) { return (uint64_t{1} << bits) - 1; }

TEST(CodecTest, KnownIdsOfEveryLayout) {
  // 2020-06-23T13:17:30.192Z
  const int64_t time = 1592918250192;
  EXPECT_EQ(*Make(Layout::SnowflakeMs()).EncodeInteger({time, 1, 2}),
            (time - 1577203200000) * (1 << 22) + (1 << 12) + 2);
  EXPECT_EQ(*Make(Layout::SnowflakeSeconds()).EncodeInteger({1592918250000, 1, 2}),
            (1592918250LL - 1577203200) * (1LL << 32) + (1 << 22) + 2);
  EXPECT_EQ(*Make(Layout::SafeJsMs()).EncodeInteger({time, 1, 2}),
            (time - 1577203200000) * (1 << 12) + (1 << 9) + 2);
  EXPECT_EQ(*Make(Layout::SafeJsSeconds()).EncodeInteger({1592918250000, 1, 2}),
            (1592918250LL - 1577203200) * (1 << 22) + (1 << 19) + 2);
  EXPECT_EQ(*Make(Layout::Radix62()).Encode({61, 62, 3843}), "0000000z00100zz");
  EXPECT_EQ(*Make(Layout::Radix62()).Encode({0, 0, 0}), "000000000000000");
}

TEST(CodecTest, FriendlyFormIsUtc) {
  const Codec codec = Make(Layout::SnowflakeMs());
  EXPECT_EQ(*codec.FormatFriendly({1592918250192, 1, 2}), "20200623131730192-1-2");
  EXPECT_EQ(*codec.ParseFriendly("20200623131730192-1-2"), (IdParts{1592918250192, 1, 2}));
  EXPECT_EQ(*codec.FormatFriendly({1582934400000, 1023, 4095}), "20200229000000000-1023-4095");
  EXPECT_EQ(*Make(Layout::SnowflakeSeconds()).FormatFriendly({1592918250000, 1, 2}),
            "20200623131730000-1-2");
}

TEST(CodecTest, RoundTripsOfRandomParts) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const auto& [name, layout] : Layouts()) {
    SCOPED_TRACE(name);
    const Codec codec = Make(layout);
    for (int i = 0; i < 2000; ++i) {
      const auto ticks = static_cast<int64_t>(random() & Max(layout.timestamp_bits));
      const IdParts parts{layout.epoch.count() + ticks * layout.tick.count(),
                          static_cast<uint32_t>(random() & Max(layout.machine_bits)),
                          random() & Max(layout.sequence_bits)};
      const auto id = codec.Encode(parts);
      ASSERT_TRUE(id.ok()) << id.status();
      const auto decoded = codec.Decode(*id);
      ASSERT_TRUE(decoded.ok()) << *id << ": " << decoded.status();
      ASSERT_EQ(*decoded, parts) << *id;
      const auto friendly = codec.FormatFriendly(parts);
      ASSERT_TRUE(friendly.ok()) << friendly.status();
      ASSERT_EQ(*codec.ParseFriendly(*friendly), parts) << *friendly;
    }
  }
}

TEST(CodecTest, OrderOfIdsIsOrderOfTime) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Codec codec = Make(Layout::Radix62());
  for (int i = 0; i < 2000; ++i) {
    const auto one = static_cast<int64_t>(random() & Max(43));
    const std::string earlier =
        *codec.Encode({one, static_cast<uint32_t>(random() & Max(20)), 65535});
    const std::string later =
        *codec.Encode({one + 1, static_cast<uint32_t>(random() & Max(20)), 0});
    ASSERT_LT(earlier, later);
  }
}

// F42, F04
TEST(CodecTest, EdgesOfEveryLayoutFitAndTheNextDoNot) {
  for (const auto& [name, layout] : Layouts()) {
    SCOPED_TRACE(name);
    const Codec codec = Make(layout);
    const int64_t tick = layout.tick.count();
    const IdParts first{layout.epoch.count(), 0, 0};
    const IdParts last{codec.last_timestamp_ms(), static_cast<uint32_t>(Max(layout.machine_bits)),
                       Max(layout.sequence_bits)};
    EXPECT_EQ(*codec.Decode(*codec.Encode(first)), first);
    EXPECT_EQ(*codec.Decode(*codec.Encode(last)), last);

    IdParts wrong = first;
    wrong.timestamp_ms -= tick;
    EXPECT_TRUE(absl::IsOutOfRange(codec.Encode(wrong).status())) << "before the epoch";
    EXPECT_TRUE(absl::IsOutOfRange(codec.FormatFriendly(wrong).status()));
    wrong = last;
    wrong.timestamp_ms += tick;
    EXPECT_TRUE(absl::IsOutOfRange(codec.Encode(wrong).status())) << "past the last timestamp";
    EXPECT_TRUE(absl::IsOutOfRange(codec.FormatFriendly(wrong).status()));
    wrong = last;
    wrong.machine_id += 1;
    EXPECT_TRUE(absl::IsOutOfRange(codec.Encode(wrong).status())) << "machine id";
    wrong = last;
    wrong.sequence += 1;
    EXPECT_TRUE(absl::IsOutOfRange(codec.Encode(wrong).status())) << "sequence";
  }
}

// F42
TEST(CodecTest, MessageNamesTheLastTimestamp) {
  const Codec codec = Make(Layout::SnowflakeMs());
  EXPECT_EQ(codec.last_timestamp_ms(), 1577203200000 + 2199023255551);
  EXPECT_THAT(codec.Encode({codec.last_timestamp_ms() + 1, 0, 0}).status().message(),
              HasSubstr("3776226455551"));
}

// F41
TEST(CodecTest, SixtyThreeBitIdsAreWhole) {
  const Layout layout{.timestamp_bits = 41, .machine_bits = 10, .sequence_bits = 12};
  const Codec codec = Make(layout);
  const int64_t largest = std::numeric_limits<int64_t>::max();
  const auto parts = codec.DecodeInteger(largest);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->timestamp_ms, codec.last_timestamp_ms());
  EXPECT_EQ(*codec.EncodeInteger(*parts), largest);
  EXPECT_EQ(*codec.Encode(*codec.Decode("9007199254740993")), "9007199254740993");
  EXPECT_EQ(*codec.Encode(*codec.Decode("9223372036854775807")), "9223372036854775807");
}

TEST(CodecTest, IdsThatAreNoneAreRefused) {
  const Codec snowflake = Make(Layout::SnowflakeMs());
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x10", "1.0", "007", "abc"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(snowflake.Decode(text).status())) << text;
  }
  EXPECT_TRUE(absl::IsOutOfRange(snowflake.Decode("9223372036854775808").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(snowflake.Decode("18446744073709551616").status()));
  EXPECT_TRUE(absl::IsOutOfRange(snowflake.DecodeInteger(-1).status()));

  const Codec safe_js = Make(Layout::SafeJsMs());
  EXPECT_TRUE(safe_js.Decode("9007199254740991").ok());
  EXPECT_TRUE(absl::IsOutOfRange(safe_js.Decode("9007199254740992").status())) << "54 bits";

  const Codec radix62 = Make(Layout::Radix62());
  for (const char* text : {"", "00000000000000", "0000000000000000", "0000000-0000000"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(radix62.Decode(text).status())) << text;
  }
  // More than 44 bits of time, than 20 of machine id, than 16 of sequence.
  for (const char* text : {"zzzzzzzz0000000", "00000000zzzz000", "000000000000zzz"}) {
    EXPECT_TRUE(absl::IsOutOfRange(radix62.Decode(text).status())) << text;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(radix62.EncodeInteger({0, 0, 0}).status()));
}

TEST(CodecTest, FriendlyFormsThatAreNoneAreRefused) {
  const Codec codec = Make(Layout::SnowflakeMs());
  for (const char* text :
       {"", "20200623131730192", "20200623131730192-1", "20200623131730192-1-",
        "20200623131730192--2", "2020062313173019-1-2", "20200230131730192-1-2",
        "20201301000000000-1-2", "20200623241730192-1-2", "20200623136030192-1-2",
        "20200623131760192-1-2", "20200623131730192-1-2-3", "20200623131730192-01-2",
        "20200623131730192-1-x", "19690623131730192-1-2"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(codec.ParseFriendly(text).status())) << text;
  }
  EXPECT_TRUE(absl::IsOutOfRange(codec.ParseFriendly("20200623131730192-1024-2").status()));
  EXPECT_TRUE(absl::IsOutOfRange(codec.ParseFriendly("20200623131730192-4294967297-2").status()));
  EXPECT_TRUE(absl::IsOutOfRange(codec.ParseFriendly("20200623131730192-1-4096").status()));
  EXPECT_TRUE(absl::IsOutOfRange(codec.ParseFriendly("20180623131730192-1-2").status()));
  EXPECT_TRUE(absl::IsOutOfRange(
      Make(Layout::SnowflakeSeconds()).ParseFriendly("20200623131730192-1-2").status()))
      << "no whole second";
}

TEST(CodecTest, FriendlyFormEndsWithTheYear9999) {
  const Codec codec = Make({.timestamp_bits = 50, .machine_bits = 1, .sequence_bits = 1});
  EXPECT_EQ(*codec.FormatFriendly({253402300799999, 0, 0}), "99991231235959999-0-0");
  EXPECT_TRUE(absl::IsOutOfRange(codec.FormatFriendly({253402300800000, 0, 0}).status()));
}

TEST(CodecTest, LayoutsThatAreNoneAreRefused) {
  const auto refused = [](const Layout& layout) {
    return absl::IsInvalidArgument(Codec::Create(layout).status());
  };
  EXPECT_TRUE(refused({.timestamp_bits = 42}));  // 64 bits
  EXPECT_TRUE(refused({.family = LayoutFamily::kSafeJs,
                       .timestamp_bits = 42,
                       .machine_bits = 3,
                       .sequence_bits = 9}));
  EXPECT_TRUE(refused({.timestamp_bits = 0}));
  EXPECT_TRUE(refused({.timestamp_bits = 20, .machine_bits = 31}));
  EXPECT_TRUE(refused({.machine_bits = 0}));
  EXPECT_TRUE(refused({.sequence_bits = -1}));
  EXPECT_TRUE(refused({.epoch = milliseconds(-1)}));
  EXPECT_TRUE(refused({.epoch = milliseconds(1577203200001), .tick = milliseconds(1000)}));
  EXPECT_TRUE(refused({.tick = milliseconds(10)}));
  EXPECT_TRUE(refused(
      {.timestamp_bits = 61, .machine_bits = 1, .sequence_bits = 1, .tick = milliseconds(1000)}));
}

TEST(CodecTest, LayoutsHaveNames) {
  for (const char* name : {"snowflake-ms", "snowflake-s", "safe-js-ms", "safe-js-s", "radix62"}) {
    const auto layout = Layout::ByName(name);
    ASSERT_TRUE(layout.ok()) << name;
    EXPECT_TRUE(Codec::Create(*layout).ok()) << name;
  }
  EXPECT_THAT(Layout::ByName("base58").status().message(), HasSubstr("safe-js-s"));
}

}  // namespace
}  // namespace snowlease::client
