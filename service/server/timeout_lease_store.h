#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "storage/decorators/forwarding_lease_store.h"

namespace snowlease::service {

// Gives every batch at most `timeout` at the store, however long its callers would
// wait, and counts those under way. Thread-safe; the clock must outlive it.
class TimeoutLeaseStore final : public storage::ForwardingLeaseStore {
 public:
  TimeoutLeaseStore(std::unique_ptr<storage::LeaseStore> next, const storage::Clock* clock,
                    storage::Millis timeout)
      : ForwardingLeaseStore(std::move(next)), clock_(clock), timeout_(timeout) {}

  storage::BatchResult<storage::Lease> Claim(std::span<const storage::ClaimSpec> specs,
                                             const storage::CallOptions& options) override {
    const Busy busy(&busy_);
    return next().Claim(specs, Limited(options));
  }
  storage::BatchResult<storage::Lease> Renew(std::span<const storage::RenewSpec> specs,
                                             const storage::CallOptions& options) override {
    const Busy busy(&busy_);
    return next().Renew(specs, Limited(options));
  }
  std::vector<absl::Status> Release(std::span<const storage::ReleaseSpec> specs,
                                    const storage::CallOptions& options) override {
    const Busy busy(&busy_);
    return next().Release(specs, Limited(options));
  }
  storage::BatchResult<storage::WatermarkReading> RaiseWatermark(
      std::span<const storage::RaiseSpec> specs, const storage::CallOptions& options) override {
    const Busy busy(&busy_);
    return next().RaiseWatermark(specs, Limited(options));
  }

  // Batches at the store at the moment.
  int busy() const { return busy_.load(std::memory_order_relaxed); }

 private:
  class Busy {
   public:
    explicit Busy(std::atomic<int>* count) : count_(count) {
      count_->fetch_add(1, std::memory_order_relaxed);
    }
    ~Busy() { count_->fetch_sub(1, std::memory_order_relaxed); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    std::atomic<int>* const count_;
  };

  storage::CallOptions Limited(storage::CallOptions options) const {
    options.deadline = std::min(options.deadline, clock_->SteadyNow() + timeout_);
    return options;
  }

  const storage::Clock* const clock_;
  const storage::Millis timeout_;
  std::atomic<int> busy_{0};
};

}  // namespace snowlease::service
