#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "storage/errors.h"

// What the groups of metrics are made of.

namespace snowlease::service {

inline constexpr size_t kReasons = static_cast<size_t>(storage::Reason::kInternal) + 1;

// Families of the registry; the registry owns them.
prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry, const char* name,
                                                  const char* help);
prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry, const char* name,
                                              const char* help);
prometheus::Family<prometheus::Histogram>& Histograms(prometheus::Registry& registry,
                                                      const char* name, const char* help);

// One metric without labels.
prometheus::Counter& OneCounter(prometheus::Registry& registry, const char* name, const char* help);
prometheus::Gauge& OneGauge(prometheus::Registry& registry, const char* name, const char* help);
prometheus::Histogram& OneHistogram(prometheus::Registry& registry, const char* name,
                                    const char* help,
                                    const prometheus::Histogram::BucketBoundaries& buckets);

// Buckets for durations of calls.
const prometheus::Histogram::BucketBoundaries& CallSeconds();

template <typename Rep, typename Period>
double Seconds(std::chrono::duration<Rep, Period> duration) {
  return std::chrono::duration<double>(duration).count();
}

// Label value of a result: OK, or the reason's name.
std::string ResultName(size_t reason);
// Index of a result among kReasons; 0: OK.
size_t ResultIndex(const absl::Status& status);

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
