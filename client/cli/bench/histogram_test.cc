#include "client/cli/bench/histogram.h"

#include "gtest/gtest.h"

namespace snowlease::cli {
namespace {

using std::chrono::nanoseconds;

TEST(HistogramTest, EmptyHasNoQuantile) {
  Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), nanoseconds(0));
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (int i = 1; i <= 60; ++i) histogram.Add(nanoseconds(i));
  EXPECT_EQ(histogram.Quantile(0.5), nanoseconds(30));
  EXPECT_EQ(histogram.Quantile(1), nanoseconds(60));
  EXPECT_EQ(histogram.count(), 60u);
}

TEST(HistogramTest, QuantilesAreWithinAThirtiethOfTheValue) {
  for (int64_t value = 1; value < int64_t{1} << 60; value = value * 3 + 1) {
    Histogram histogram;
    histogram.Add(nanoseconds(value));
    histogram.Add(nanoseconds(value * 2));
    const auto middle = static_cast<double>(histogram.Quantile(0.5).count());
    EXPECT_NEAR(middle, static_cast<double>(value), static_cast<double>(value) / 30) << value;
    EXPECT_EQ(histogram.max(), nanoseconds(value * 2));
  }
}

TEST(HistogramTest, RareSlowValuesShowInTheNinetyNinth) {
  Histogram histogram;
  for (int i = 0; i < 980; ++i) histogram.Add(nanoseconds(1000));
  for (int i = 0; i < 20; ++i) histogram.Add(nanoseconds(1'000'000));
  EXPECT_LT(histogram.Quantile(0.5), nanoseconds(1100));
  EXPECT_GT(histogram.Quantile(0.99), nanoseconds(900'000));
}

TEST(HistogramTest, NegativeAndHugeValuesAreKept) {
  Histogram histogram;
  histogram.Add(nanoseconds(-5));
  histogram.Add(nanoseconds::max());
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.max(), nanoseconds::max());
}

}  // namespace
}  // namespace snowlease::cli
