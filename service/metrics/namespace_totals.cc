#include "service/metrics/namespace_totals.h"

#include <algorithm>

namespace snowlease::service {
namespace {

void AddTo(NamespaceTotals::Sums& sums, uint64_t capacity, const storage::LeaseCounts& counts) {
  sums.capacity += capacity;
  sums.counts.free += counts.free;
  sums.counts.held += counts.held;
  sums.counts.kept += counts.kept;
  sums.counts.reserved += counts.reserved;
}

}  // namespace

NamespaceTotals::NamespaceTotals(const std::vector<std::string>& listed)
    : sums_(listed.size() + 1) {
  for (size_t i = 0; i < listed.size(); ++i) index_.emplace(listed[i], i);
}

void NamespaceTotals::Add(const storage::NamespaceRow& row) {
  const uint64_t capacity = uint64_t{1} << row.machine_bits;
  const auto listed = index_.find(row.name);
  AddTo(listed == index_.end() ? sums_.back() : sums_[listed->second], capacity, row.counts);
  ++namespaces_;
  const uint64_t used = row.counts.held + row.counts.kept + row.counts.reserved;
  fullest_ = std::max(fullest_, static_cast<double>(used) / static_cast<double>(capacity));
}

NamespaceTotals::Sums NamespaceTotals::All() const {
  Sums all;
  for (const Sums& sums : sums_) AddTo(all, sums.capacity, sums.counts);
  return all;
}

}  // namespace snowlease::service
