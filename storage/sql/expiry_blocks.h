#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/sql/bulk_statements.h"

namespace snowlease::storage {

// The expiry blocks of one namespace as a transaction sees them: read in pages, in the
// order of their bounds, and changed in memory until Flush.
class ExpiryBlocks {
 public:
  ExpiryBlocks(BulkStatements* statements, std::string name_space)
      : statements_(statements), name_space_(std::move(name_space)) {}

  std::vector<ExpiryBlock> Due(StoreTime until, uint64_t id_limit,
                               const std::optional<ExpiryBlock>& after, int limit);
  void Set(uint32_t block, std::optional<StoreTime> bound);
  void Lower(uint32_t block, StoreTime bound);
  void Flush();

 private:
  using Place = std::pair<StoreTime, uint32_t>;

  static constexpr Place kBeforeAll{{-1}, 0};

  void ReadPage();
  void Change(uint32_t block, std::optional<StoreTime> bound);
  // Writes what was only lowered, so that pages that are read contain it.
  void FlushLowered();

  BulkStatements* const statements_;
  const std::string name_space_;
  std::map<uint32_t, std::optional<StoreTime>> bounds_;  // read or set; none: no bound
  std::set<Place> by_bound_;
  std::set<uint32_t> changed_;
  std::map<uint32_t, StoreTime> lowered_;  // of blocks that were not read
  Place read_until_ = kBeforeAll;
  bool reading_ = false;
  bool complete_ = false;
  int page_ = 16;
};

}  // namespace snowlease::storage
