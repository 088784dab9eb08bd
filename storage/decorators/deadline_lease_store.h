#pragma once

#include <memory>

#include "storage/decorators/forwarding_lease_store.h"

namespace snowlease::storage {

// Answers STORE_TIMEOUT, without asking the store, to batches whose last caller has
// stopped waiting; the others go on with their deadline. Thread-safe.
class DeadlineLeaseStore final : public ForwardingLeaseStore {
 public:
  // The clock must outlive the store.
  DeadlineLeaseStore(std::unique_ptr<LeaseStore> next, const Clock* clock)
      : ForwardingLeaseStore(std::move(next)), clock_(clock) {}

  BatchResult<Lease> Claim(std::span<const ClaimSpec> specs, const CallOptions& options) override;
  BatchResult<Lease> Renew(std::span<const RenewSpec> specs, const CallOptions& options) override;
  std::vector<absl::Status> Release(std::span<const ReleaseSpec> specs,
                                    const CallOptions& options) override;
  BatchResult<WatermarkReading> RaiseWatermark(std::span<const RaiseSpec> specs,
                                               const CallOptions& options) override;

 private:
  bool HasPassed(const CallOptions& options) const {
    return clock_->SteadyNow() >= options.deadline;
  }

  const Clock* const clock_;
};

}  // namespace snowlease::storage
