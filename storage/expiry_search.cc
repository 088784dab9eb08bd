#include "storage/expiry_search.h"

#include <algorithm>
#include <limits>
#include <set>

namespace snowlease::storage {
namespace {

constexpr int kBlocksPerLook = 16;

// The two earliest expiries of a block: its bound now, and without the first.
struct BlockScan {
  std::vector<LeaseRow> leases;
  std::optional<StoreTime> earliest;
  std::optional<StoreTime> second;
};

BlockScan ScanBlock(LeaseRows& rows, const std::string& name_space, const ExpiryBlock& block) {
  BlockScan scan;
  scan.leases = rows.ExpirableInBlock(name_space, block.block);
  for (const LeaseRow& lease : scan.leases) {
    const StoreTime expires_at = *ExpiresAt(lease);
    if (!scan.earliest || expires_at < *scan.earliest) {
      scan.second = scan.earliest;
      scan.earliest = expires_at;
    } else if (!scan.second || expires_at < *scan.second) {
      scan.second = expires_at;
    }
  }
  if (scan.earliest != std::optional(block.bound)) {
    rows.SetBlockBound(name_space, block.block, scan.earliest);
  }
  return scan;
}

class Search {
 public:
  Search(uint64_t id_limit, ClientTime highest_floor, const std::set<uint32_t>& except,
         StoreTime now)
      : id_limit_(id_limit), highest_floor_(highest_floor), except_(except), now_(now) {}

  // No lease of a block with this bound has been expired for longer than the one found.
  bool IsDoneAt(StoreTime bound) const {
    return found_.longest_expired && bound >= *ExpiresAt(*found_.longest_expired);
  }

  void LookAt(const BlockScan& scan) {
    for (const LeaseRow& lease : scan.leases) Consider(lease, scan);
  }

  ExpirySearch Take() { return std::move(found_); }

 private:
  void Consider(const LeaseRow& lease, const BlockScan& scan) {
    if (lease.machine_id >= id_limit_ || !IsExpired(lease, now_)) return;
    if (except_.contains(lease.machine_id)) return;
    const ClientTime floor = *FloorOf(lease);
    if (floor > highest_floor_) {
      found_.lowest_passed_floor = std::min(floor, found_.lowest_passed_floor.value_or(floor));
      return;
    }
    const StoreTime expires_at = *ExpiresAt(lease);
    if (found_.longest_expired && expires_at >= *ExpiresAt(*found_.longest_expired)) return;
    found_.longest_expired = lease;
    found_.bound_without_it = expires_at == *scan.earliest ? scan.second : scan.earliest;
  }

  const uint64_t id_limit_;
  const ClientTime highest_floor_;
  const std::set<uint32_t>& except_;
  const StoreTime now_;
  ExpirySearch found_;
};

}  // namespace

ExpirySearch FindLongestExpired(LeaseRows& rows, const std::string& name_space, uint64_t id_limit,
                                ClientTime highest_floor, const std::set<uint32_t>& except,
                                StoreTime now) {
  Search search(id_limit, highest_floor, except, now);
  // A scan moves its block later in the order, where it must not be looked at again.
  std::set<uint32_t> scanned;
  std::optional<ExpiryBlock> last;
  while (true) {
    const auto due = rows.BlocksDue(name_space, now, id_limit, last, kBlocksPerLook);
    if (due.empty()) return search.Take();
    for (const ExpiryBlock& block : due) {
      if (search.IsDoneAt(block.bound)) return search.Take();
      last = block;
      if (scanned.insert(block.block).second) {
        search.LookAt(ScanBlock(rows, name_space, block));
      }
    }
  }
}

std::optional<StoreTime> FindNextExpiry(LeaseRows& rows, const std::string& name_space,
                                        uint64_t id_limit) {
  constexpr StoreTime kEndOfTime{std::numeric_limits<int64_t>::max()};
  const auto first = [&] {
    return rows.BlocksDue(name_space, kEndOfTime, id_limit, std::nullopt, 1);
  };
  auto block = first();
  if (!block.empty()) {
    ScanBlock(rows, name_space, block.front());
    block = first();
  }
  if (block.empty()) return std::nullopt;
  return block.front().bound;
}

}  // namespace snowlease::storage
