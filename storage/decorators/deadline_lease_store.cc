#include "storage/decorators/deadline_lease_store.h"

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

absl::Status TooLate() {
  return StoreTimeoutError("the deadline passed before the store was asked; nothing was done");
}

}  // namespace

BatchResult<Lease> DeadlineLeaseStore::Claim(std::span<const ClaimSpec> specs,
                                             const CallOptions& options) {
  if (HasPassed(options)) return BatchResult<Lease>(specs.size(), TooLate());
  return next().Claim(specs, options);
}

BatchResult<Lease> DeadlineLeaseStore::Renew(std::span<const RenewSpec> specs,
                                             const CallOptions& options) {
  if (HasPassed(options)) return BatchResult<Lease>(specs.size(), TooLate());
  return next().Renew(specs, options);
}

std::vector<absl::Status> DeadlineLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                      const CallOptions& options) {
  if (HasPassed(options)) return std::vector<absl::Status>(specs.size(), TooLate());
  return next().Release(specs, options);
}

BatchResult<WatermarkReading> DeadlineLeaseStore::RaiseWatermark(std::span<const RaiseSpec> specs,
                                                                 const CallOptions& options) {
  if (HasPassed(options)) return BatchResult<WatermarkReading>(specs.size(), TooLate());
  return next().RaiseWatermark(specs, options);
}

}  // namespace snowlease::storage
