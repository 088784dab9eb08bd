#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/decorators/forwarding_lease_store.h"

namespace snowlease::service {

// Gives every batch at most `timeout` at the store, however long its callers would
// wait. Thread-safe; the clock must outlive it.
class TimeoutLeaseStore final : public storage::ForwardingLeaseStore {
 public:
  TimeoutLeaseStore(std::unique_ptr<storage::LeaseStore> next, const storage::Clock* clock,
                    storage::Millis timeout)
      : ForwardingLeaseStore(std::move(next)), clock_(clock), timeout_(timeout) {}

  storage::BatchResult<storage::Lease> Claim(std::span<const storage::ClaimSpec> specs,
                                             const storage::CallOptions& options) override {
    return next().Claim(specs, Limited(options));
  }
  storage::BatchResult<storage::Lease> Renew(std::span<const storage::RenewSpec> specs,
                                             const storage::CallOptions& options) override {
    return next().Renew(specs, Limited(options));
  }
  std::vector<absl::Status> Release(std::span<const storage::ReleaseSpec> specs,
                                    const storage::CallOptions& options) override {
    return next().Release(specs, Limited(options));
  }
  storage::BatchResult<storage::WatermarkReading> RaiseWatermark(
      std::span<const storage::RaiseSpec> specs, const storage::CallOptions& options) override {
    return next().RaiseWatermark(specs, Limited(options));
  }

 private:
  storage::CallOptions Limited(storage::CallOptions options) const {
    options.deadline = std::min(options.deadline, clock_->SteadyNow() + timeout_);
    return options;
  }

  const storage::Clock* const clock_;
  const storage::Millis timeout_;
};

}  // namespace snowlease::service
