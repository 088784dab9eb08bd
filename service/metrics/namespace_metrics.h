#pragma once

#include <string>
#include <vector>

#include "service/metrics/metric_families.h"
#include "service/metrics/namespace_totals.h"

namespace snowlease::service {

// How full the namespaces are: the listed ones by name, all others together.
class NamespaceMetrics {
 public:
  // The registry must outlive it.
  NamespaceMetrics(prometheus::Registry& registry, const std::vector<std::string>& listed);

  // The totals are of the same list.
  void Set(const NamespaceTotals& totals);

 private:
  struct States {
    prometheus::Gauge* held;
    prometheus::Gauge* kept;
    prometheus::Gauge* free;
    prometheus::Gauge* reserved;

    void Set(const storage::LeaseCounts& counts) const;
  };
  struct Labelled {
    prometheus::Gauge* capacity;
    States states;

    void Set(const NamespaceTotals::Sums& sums) const;
  };

  prometheus::Gauge& namespaces_;
  prometheus::Gauge& fullest_;
  States all_;
  std::vector<Labelled> by_name_;  // listed ones, then the others
};

}  // namespace snowlease::service
