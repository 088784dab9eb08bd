#pragma once

#include <functional>
#include <mutex>

#include "storage/lease_rules.h"
#include "storage/lease_store.h"
#include "storage/memory/memory_lease_rows.h"

namespace snowlease::storage {

// The reference model: the rules over maps under one mutex. Forgets everything when
// it ends, so it is for tests and trials only; batches are atomic, nothing is durable.
class MemoryLeaseStore final : public LeaseStore {
 public:
  // The store's clock is `store_clock` when given, else the host's. Both clocks must
  // outlive the store.
  MemoryLeaseStore(const StoreOptions& options, const Clock* host_clock,
                   std::function<StoreTime()> store_clock = nullptr);

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
  Capabilities GetCapabilities() const override;
  std::string StoreId() const override { return store_id_; }
  int SchemaVersion() const override { return 1; }

 private:
  RuleContext Now() const;
  // Runs `operation(rows, context)` alone.
  template <typename Operation>
  auto Locked(Operation operation);
  // Runs `operation(rows, spec, context)` for each element of a batch.
  template <typename Spec, typename Operation>
  auto LockedBatch(std::span<const Spec> specs, Operation operation);

  const StoreOptions options_;
  const Clock* const host_clock_;
  const std::function<StoreTime()> store_clock_;
  const std::string store_id_;
  std::mutex mutex_;
  MemoryLeaseRows rows_;
};

}  // namespace snowlease::storage
