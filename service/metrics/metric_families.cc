#include "service/metrics/metric_families.h"

namespace snowlease::service {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

Family<Counter>& Counters(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& Gauges(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Histogram>& Histograms(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

Counter& OneCounter(Registry& registry, const char* name, const char* help) {
  return Counters(registry, name, help).Add({});
}

Gauge& OneGauge(Registry& registry, const char* name, const char* help) {
  return Gauges(registry, name, help).Add({});
}

Histogram& OneHistogram(Registry& registry, const char* name, const char* help,
                        const Histogram::BucketBoundaries& buckets) {
  return Histograms(registry, name, help).Add({}, buckets);
}

const Histogram::BucketBoundaries& CallSeconds() {
  static const Histogram::BucketBoundaries buckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                   0.1,    0.25,  0.5,    1,     2.5,  5,     10};
  return buckets;
}

std::string ResultName(size_t reason) {
  return storage::ReasonName(static_cast<storage::Reason>(reason));
}

size_t ResultIndex(const absl::Status& status) {
  return status.ok() ? 0 : static_cast<size_t>(storage::ReasonOf(status));
}

}  // namespace snowlease::service
