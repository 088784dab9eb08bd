#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>

#include <array>
#include <atomic>
#include <functional>
#include <utility>

namespace snowlease::service {

// Metrics of one family by a small number, made when first used and then found
// without a look-up. Thread-safe: the family answers the same metric for the same
// labels.
template <typename Metric, size_t N>
class LazyMetrics {
 public:
  using Make = std::function<Metric&(size_t index)>;
  explicit LazyMetrics(Make make) : make_(std::move(make)) {}

  Metric& operator[](size_t index) {
    Metric* metric = metrics_[index].load(std::memory_order_acquire);
    if (metric == nullptr) {
      metric = &make_(index);
      metrics_[index].store(metric, std::memory_order_release);
    }
    return *metric;
  }

 private:
  const Make make_;
  std::array<std::atomic<Metric*>, N> metrics_{};
};

}  // namespace snowlease::service
