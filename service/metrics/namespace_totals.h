#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/lease.h"

namespace snowlease::service {

// Leases counted over all namespaces; by name only for the listed ones.
class NamespaceTotals {
 public:
  struct Sums {
    uint64_t capacity = 0;
    storage::LeaseCounts counts;
  };

  // `listed` in the order of Listed.
  explicit NamespaceTotals(const std::vector<std::string>& listed);

  void Add(const storage::NamespaceRow& row);

  const Sums& Listed(size_t index) const { return sums_[index]; }
  // All that are not listed.
  const Sums& Other() const { return sums_.back(); }
  Sums All() const;
  uint64_t namespaces() const { return namespaces_; }
  // How full the fullest namespace is, 0..1.
  double fullest() const { return fullest_; }

 private:
  std::unordered_map<std::string, size_t> index_;
  std::vector<Sums> sums_;  // listed ones, then the others
  uint64_t namespaces_ = 0;
  double fullest_ = 0;
};

}  // namespace snowlease::service
