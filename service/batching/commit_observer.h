#pragma once

#include <chrono>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/batching/group_commit_events.h"
#include "storage/lease.h"

namespace snowlease::service {

// Told about everything that GroupCommitter does, before the caller is. Methods come from
// any thread, several at a time, and must not block. `total` runs from the call's arrival
// to the answer of the store. Calls that shared an element of a batch show its merged spec.
class CommitObserver {
 public:
  virtual ~CommitObserver() = default;

  virtual void OnClaim(const storage::ClaimSpec& /*spec*/,
                       const absl::StatusOr<storage::Lease>& /*result*/,
                       std::chrono::nanoseconds /*total*/) {}
  virtual void OnRenew(const storage::RenewSpec& /*spec*/,
                       const absl::StatusOr<storage::Lease>& /*result*/,
                       std::chrono::nanoseconds /*total*/) {}
  virtual void OnRelease(const storage::ReleaseSpec& /*spec*/, const absl::Status& /*result*/,
                         std::chrono::nanoseconds /*total*/) {}
  // `size` elements went to the store in one call.
  virtual void OnBatch(CallKind /*kind*/, size_t /*size*/) {}
  // The call never reached the store: OVERLOADED, DRAINING, or its deadline passed.
  virtual void OnRejected(CallKind /*kind*/, const absl::Status& /*status*/) {}
};

}  // namespace snowlease::service
