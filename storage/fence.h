#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "storage/lease_rows.h"
#include "storage/lease_rules.h"

// What a restored store needs before it serves again: it knows nothing of the windows
// that were acknowledged after the backup, so everything starts above them.

namespace snowlease::storage {

// The name of a tombstone that counts for every namespace that the store does not know,
// since a backup does not know those that were made after it. No namespace has this name.
inline constexpr char kEveryNamespace[] = "";

inline constexpr Millis kLongestFence{int64_t{30} * 24 * 3'600'000};

// Ends every grant, raises every fence and base floor to at least reference clock +
// `ahead`, and adds kFenceTokens to every token; audited per namespace. Machine ids of
// ended grants are FREE, or KEPT for their stable instances.
// Errors: INVALID_ARGUMENT (ahead: above 0, at most kLongestFence).
absl::StatusOr<FenceSummary> Fence(LeaseRows& rows, Millis ahead, const AdminContext& admin,
                                   const RuleContext& context);

// An empty namespace that goes on where a deleted one of that name, and a fence, ended.
NamespaceRow NewNamespaceRow(LeaseRows& rows, const std::string& name,
                             const std::optional<NamespaceRow>& tombstone);

}  // namespace snowlease::storage
