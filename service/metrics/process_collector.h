#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace snowlease::service {

// The standard process_* metrics of this process, read from /proc when scraped.
class ProcessCollector final : public prometheus::Collectable {
 public:
  // What cannot be read is left out.
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace snowlease::service
