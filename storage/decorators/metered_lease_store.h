#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "storage/decorators/forwarding_lease_store.h"
#include "storage/errors.h"

namespace snowlease::storage {

// Is told about every call to the store; from any thread, must not block.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;

  // `operation` is the method's name in snake case. `result` is the failure of the
  // store, if any (STORE_UNAVAILABLE, STORE_TIMEOUT, INTERNAL): what the rules refuse
  // is an answer of a store that works, kNone. `elements` is the size of the batch, 1
  // for other calls.
  virtual void OnOperation(std::string_view operation, Reason result,
                           std::chrono::nanoseconds duration, size_t elements) = 0;
};

// Measures the calls that go through it. Thread-safe.
class MeteredLeaseStore final : public ForwardingLeaseStore {
 public:
  // Observer and clock must outlive the store.
  MeteredLeaseStore(std::unique_ptr<LeaseStore> next, StoreObserver* observer,
                    const Clock* clock = Clock::Real())
      : ForwardingLeaseStore(std::move(next)), observer_(observer), clock_(clock) {}

  BatchResult<Lease> Claim(std::span<const ClaimSpec> specs, const CallOptions& options) override;
  BatchResult<Lease> Renew(std::span<const RenewSpec> specs, const CallOptions& options) override;
  std::vector<absl::Status> Release(std::span<const ReleaseSpec> specs,
                                    const CallOptions& options) override;
  BatchResult<WatermarkReading> RaiseWatermark(std::span<const RaiseSpec> specs,
                                               const CallOptions& options) override;

  absl::StatusOr<WatermarkReading> GetWatermark(const std::string& name_space,
                                                uint32_t machine_id) override;
  absl::StatusOr<std::vector<NamespaceRow>> ListNamespaces(const std::string& after,
                                                           int limit) override;
  absl::StatusOr<NamespaceDetail> GetNamespace(const std::string& name) override;
  absl::StatusOr<std::vector<LeaseDetail>> ListLeases(const std::string& name_space,
                                                      const LeaseFilter& filter, uint32_t from,
                                                      int limit) override;
  absl::StatusOr<LeaseHistory> GetLease(const std::string& name_space,
                                        uint32_t machine_id) override;
  absl::StatusOr<std::vector<GrantRow>> FindOwner(const std::string& name_space,
                                                  uint32_t machine_id,
                                                  ClientTime timestamp) override;
  absl::StatusOr<std::vector<AuditRow>> ListAudit(const std::string& name_space,
                                                  int limit) override;

  absl::StatusOr<NamespaceRow> UpdateNamespace(const NamespaceUpdate& update,
                                               const AdminContext& context) override;
  absl::Status DeleteNamespace(const std::string& name, const AdminContext& context) override;
  absl::StatusOr<ClientTime> ForceRelease(const ForceReleaseSpec& spec,
                                          const AdminContext& context) override;
  absl::Status ReserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                          const AdminContext& context) override;
  absl::Status UnreserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                            std::optional<ClientTime> floor, const AdminContext& context) override;
  absl::StatusOr<FenceSummary> Fence(Millis ahead, const AdminContext& context) override;

  absl::Status Migrate(MigrateMode mode) override;
  absl::StatusOr<StoreTime> Ping() override;

 private:
  template <typename Call>
  auto Metered(std::string_view operation, size_t elements, Call call);

  StoreObserver* const observer_;
  const Clock* const clock_;
};

}  // namespace snowlease::storage
