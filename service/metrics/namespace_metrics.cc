#include "service/metrics/namespace_metrics.h"

namespace snowlease::service {
namespace {

using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

constexpr char kOther[] = "other";

Gauge* InState(Family<Gauge>& family, prometheus::Labels labels, const char* state) {
  labels["state"] = state;
  return &family.Add(labels);
}

}  // namespace

NamespaceMetrics::NamespaceMetrics(Registry& registry, const std::vector<std::string>& listed)
    : namespaces_(OneGauge(registry, "snowlease_namespaces", "Namespaces in the store.")),
      fullest_(OneGauge(registry, "snowlease_namespace_fullness_max_ratio",
                        "Held, kept and reserved machine ids of the fullest namespace, of its "
                        "capacity, 0 to 1.")) {
  const auto states = [](Family<Gauge>& family, const prometheus::Labels& labels) {
    return States{InState(family, labels, "held"), InState(family, labels, "kept"),
                  InState(family, labels, "free"), InState(family, labels, "reserved")};
  };
  all_ = states(Gauges(registry, "snowlease_leases", "Machine ids by state."), {});
  Family<Gauge>& capacity = Gauges(registry, "snowlease_namespace_capacity",
                                   "Machine ids of the namespace; \"other\": of all not listed.");
  Family<Gauge>& leases =
      Gauges(registry, "snowlease_namespace_leases", "Machine ids of the namespace by state.");
  std::vector<std::string> names = listed;
  names.emplace_back(kOther);
  for (const std::string& name : names) {
    const prometheus::Labels labels{{"namespace", name}};
    by_name_.push_back({&capacity.Add(labels), states(leases, labels)});
  }
}

void NamespaceMetrics::States::Set(const storage::LeaseCounts& counts) const {
  held->Set(static_cast<double>(counts.held));
  kept->Set(static_cast<double>(counts.kept));
  free->Set(static_cast<double>(counts.free));
  reserved->Set(static_cast<double>(counts.reserved));
}

void NamespaceMetrics::Labelled::Set(const NamespaceTotals::Sums& sums) const {
  capacity->Set(static_cast<double>(sums.capacity));
  states.Set(sums.counts);
}

void NamespaceMetrics::Set(const NamespaceTotals& totals) {
  for (size_t i = 0; i + 1 < by_name_.size(); ++i) by_name_[i].Set(totals.Listed(i));
  by_name_.back().Set(totals.Other());
  all_.Set(totals.All().counts);
  namespaces_.Set(static_cast<double>(totals.namespaces()));
  fullest_.Set(totals.fullest());
}

}  // namespace snowlease::service
