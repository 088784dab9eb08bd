#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace snowlease::cli {

// Durations by logarithmic buckets, each at most 1/32 of its value wide. Thread-safe.
class Histogram {
 public:
  void Add(std::chrono::nanoseconds duration);
  uint64_t count() const;
  // The middle of the bucket that holds the quantile, 0..1; 0 without values.
  std::chrono::nanoseconds Quantile(double quantile) const;
  // Exact.
  std::chrono::nanoseconds max() const;

 private:
  static constexpr size_t kBuckets = 64 * 32;

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<int64_t> max_{0};
};

}  // namespace snowlease::cli
