#pragma once

#include "absl/status/statusor.h"
#include "storage/lease_rows.h"
#include "storage/lease_rules.h"

// What instances ask for, as steps over the rows of one write transaction: decide
// first, write last, so that a refused element of a batch leaves nothing behind.
// They may throw StoreFailure, which the backend turns into the batch's answer.

namespace snowlease::storage {

// Errors: CLOCK_SKEW, NAMESPACE_POLICY, INCARNATION_REUSED, WINDOW_OPEN, CLOCK_BEHIND,
// CAP_EXCEEDED, MACHINE_ID_OVERFLOW.
absl::StatusOr<Lease> ClaimLease(LeaseRows& rows, const ClaimSpec& spec,
                                 const RuleContext& context);
// Errors: MACHINE_ID_LOST.
absl::StatusOr<Lease> RenewLease(LeaseRows& rows, const RenewSpec& spec,
                                 const RuleContext& context);
// Errors: MACHINE_ID_LOST.
absl::Status ReleaseLease(LeaseRows& rows, const ReleaseSpec& spec, const RuleContext& context);
// Errors: MACHINE_ID_LOST.
absl::StatusOr<WatermarkReading> RaiseLeaseWatermark(LeaseRows& rows, const RaiseSpec& spec,
                                                     const RuleContext& context);

// Why the grant is not the caller's any more.
EndCause LossCause(LeaseRows& rows, const std::optional<LeaseRow>& row, const GrantKey& grant);

// Extends the window of the row for its holder and writes it: a renewal, or a repeated
// claim.
absl::StatusOr<Lease> ExtendLease(LeaseRows& rows, LeaseRow row, ClientTime client_time,
                                  const RuleContext& context);

// The answer to a call that left the row HELD.
Lease LeaseOf(const LeaseRow& row, const RuleContext& context);

}  // namespace snowlease::storage
