#include "client/cli/bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace snowlease::cli {
namespace {

constexpr int kSubBits = 5;  // 32 buckets for each power of two

size_t BucketOf(uint64_t value) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kSubBits - 1);
  return static_cast<size_t>(shift << kSubBits) + static_cast<size_t>(value >> shift);
}

int64_t MiddleOf(size_t bucket) {
  if (bucket < (2u << kSubBits)) return static_cast<int64_t>(bucket);
  const size_t shift = (bucket >> kSubBits) - 1;
  const uint64_t lowest = (bucket - (shift << kSubBits)) << shift;
  return static_cast<int64_t>(lowest + (uint64_t{1} << shift) / 2);
}

}  // namespace

void Histogram::Add(std::chrono::nanoseconds duration) {
  const int64_t value = std::max<int64_t>(duration.count(), 0);
  buckets_[BucketOf(static_cast<uint64_t>(value))].fetch_add(1, std::memory_order_relaxed);
  int64_t seen = max_.load(std::memory_order_relaxed);
  while (seen < value && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

uint64_t Histogram::count() const {
  uint64_t sum = 0;
  for (const auto& bucket : buckets_) sum += bucket.load(std::memory_order_relaxed);
  return sum;
}

std::chrono::nanoseconds Histogram::Quantile(double quantile) const {
  const uint64_t total = count();
  const auto wanted = static_cast<uint64_t>(std::ceil(quantile * static_cast<double>(total)));
  uint64_t sum = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    sum += buckets_[i].load(std::memory_order_relaxed);
    if (sum > 0 && sum >= wanted) {
      return std::min(std::chrono::nanoseconds(MiddleOf(i)), max());
    }
  }
  return std::chrono::nanoseconds(0);
}

std::chrono::nanoseconds Histogram::max() const {
  return std::chrono::nanoseconds(max_.load(std::memory_order_relaxed));
}

}  // namespace snowlease::cli
