#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "storage/lease_rows.h"
#include "storage/lease_rules.h"

namespace snowlease::storage {

// What a search for an expired lease found.
struct ExpirySearch {
  std::optional<LeaseRow> longest_expired;        // that the claimant can use
  std::optional<StoreTime> bound_without_it;      // of its block, once it is granted anew
  std::optional<ClientTime> lowest_passed_floor;  // of expired leases it cannot use
};

// Finds the lease that has been expired longest among machine ids below id_limit whose
// floor is at most highest_floor, those in `except` left out. Looks at blocks in the order of their
// bounds, sets each bound it looks at exactly, and stops as soon as no later block can hold an
// older one; so its cost does not grow with the namespace (docs/adr/0003-expiry-blocks.md).
ExpirySearch FindLongestExpired(LeaseRows& rows, const std::string& name_space, uint64_t id_limit,
                                ClientTime highest_floor, const std::set<uint32_t>& except,
                                StoreTime now);

// A lower bound on the next expiry in the namespace, exact unless several leases are
// about to expire in blocks not looked at for long; none: nothing can expire.
std::optional<StoreTime> FindNextExpiry(LeaseRows& rows, const std::string& name_space,
                                        uint64_t id_limit);

}  // namespace snowlease::storage
