#pragma once

#include <memory>
#include <utility>

#include "storage/lease_store.h"

namespace snowlease::storage {

// Passes every call on to the store that it owns; a decorator overrides what it is for.
class ForwardingLeaseStore : public LeaseStore {
 public:
  explicit ForwardingLeaseStore(std::unique_ptr<LeaseStore> next) : next_(std::move(next)) {}

  BatchResult<Lease> Claim(std::span<const ClaimSpec> specs, const CallOptions& options) override {
    return next_->Claim(specs, options);
  }
  BatchResult<Lease> Renew(std::span<const RenewSpec> specs, const CallOptions& options) override {
    return next_->Renew(specs, options);
  }
  std::vector<absl::Status> Release(std::span<const ReleaseSpec> specs,
                                    const CallOptions& options) override {
    return next_->Release(specs, options);
  }
  BatchResult<WatermarkReading> RaiseWatermark(std::span<const RaiseSpec> specs,
                                               const CallOptions& options) override {
    return next_->RaiseWatermark(specs, options);
  }

  absl::StatusOr<WatermarkReading> GetWatermark(const std::string& name_space,
                                                uint32_t machine_id) override {
    return next_->GetWatermark(name_space, machine_id);
  }
  absl::StatusOr<std::vector<NamespaceRow>> ListNamespaces(const std::string& after,
                                                           int limit) override {
    return next_->ListNamespaces(after, limit);
  }
  absl::StatusOr<NamespaceDetail> GetNamespace(const std::string& name) override {
    return next_->GetNamespace(name);
  }
  absl::StatusOr<std::vector<LeaseDetail>> ListLeases(const std::string& name_space,
                                                      const LeaseFilter& filter, uint32_t from,
                                                      int limit) override {
    return next_->ListLeases(name_space, filter, from, limit);
  }
  absl::StatusOr<LeaseHistory> GetLease(const std::string& name_space,
                                        uint32_t machine_id) override {
    return next_->GetLease(name_space, machine_id);
  }
  absl::StatusOr<std::vector<GrantRow>> FindOwner(const std::string& name_space,
                                                  uint32_t machine_id,
                                                  ClientTime timestamp) override {
    return next_->FindOwner(name_space, machine_id, timestamp);
  }
  absl::StatusOr<std::vector<AuditRow>> ListAudit(const std::string& name_space,
                                                  int limit) override {
    return next_->ListAudit(name_space, limit);
  }

  absl::StatusOr<NamespaceRow> UpdateNamespace(const NamespaceUpdate& update,
                                               const AdminContext& context) override {
    return next_->UpdateNamespace(update, context);
  }
  absl::Status DeleteNamespace(const std::string& name, const AdminContext& context) override {
    return next_->DeleteNamespace(name, context);
  }
  absl::StatusOr<ClientTime> ForceRelease(const ForceReleaseSpec& spec,
                                          const AdminContext& context) override {
    return next_->ForceRelease(spec, context);
  }
  absl::Status ReserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                          const AdminContext& context) override {
    return next_->ReserveIds(name_space, ids, context);
  }
  absl::Status UnreserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                            std::optional<ClientTime> floor, const AdminContext& context) override {
    return next_->UnreserveIds(name_space, ids, floor, context);
  }
  absl::StatusOr<FenceSummary> Fence(Millis ahead, const AdminContext& context) override {
    return next_->Fence(ahead, context);
  }

  absl::Status Migrate(MigrateMode mode) override { return next_->Migrate(mode); }
  absl::StatusOr<StoreTime> Ping() override { return next_->Ping(); }
  Capabilities GetCapabilities() const override { return next_->GetCapabilities(); }
  std::string StoreId() const override { return next_->StoreId(); }
  int SchemaVersion() const override { return next_->SchemaVersion(); }

 protected:
  LeaseStore& next() { return *next_; }

 private:
  const std::unique_ptr<LeaseStore> next_;
};

}  // namespace snowlease::storage
