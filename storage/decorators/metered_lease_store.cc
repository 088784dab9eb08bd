#include "storage/decorators/metered_lease_store.h"

namespace snowlease::storage {
namespace {

Reason StoreFailureOf(const absl::Status& status) {
  const Reason reason = ReasonOf(status);
  const bool by_store = reason == Reason::kStoreUnavailable || reason == Reason::kStoreTimeout ||
                        reason == Reason::kInternal;
  return by_store ? reason : Reason::kNone;
}

template <typename T>
Reason StoreFailureOf(const absl::StatusOr<T>& result) {
  return StoreFailureOf(result.status());
}

// A store fails for all elements of a batch or for none.
template <typename T>
Reason StoreFailureOf(const std::vector<T>& results) {
  return results.empty() ? Reason::kNone : StoreFailureOf(results.front());
}

}  // namespace

template <typename Call>
auto MeteredLeaseStore::Metered(std::string_view operation, size_t elements, Call call) {
  const SteadyTime start = clock_->SteadyNow();
  auto result = call(next());
  const std::chrono::nanoseconds duration = clock_->SteadyNow() - start;
  observer_->OnOperation(operation, StoreFailureOf(result), duration, elements);
  return result;
}

BatchResult<Lease> MeteredLeaseStore::Claim(std::span<const ClaimSpec> specs,
                                            const CallOptions& options) {
  return Metered("claim", specs.size(),
                 [&](LeaseStore& store) { return store.Claim(specs, options); });
}

BatchResult<Lease> MeteredLeaseStore::Renew(std::span<const RenewSpec> specs,
                                            const CallOptions& options) {
  return Metered("renew", specs.size(),
                 [&](LeaseStore& store) { return store.Renew(specs, options); });
}

std::vector<absl::Status> MeteredLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                     const CallOptions& options) {
  return Metered("release", specs.size(),
                 [&](LeaseStore& store) { return store.Release(specs, options); });
}

BatchResult<WatermarkReading> MeteredLeaseStore::RaiseWatermark(std::span<const RaiseSpec> specs,
                                                                const CallOptions& options) {
  return Metered("raise_watermark", specs.size(),
                 [&](LeaseStore& store) { return store.RaiseWatermark(specs, options); });
}

absl::StatusOr<WatermarkReading> MeteredLeaseStore::GetWatermark(const std::string& name_space,
                                                                 uint32_t machine_id) {
  return Metered("get_watermark", 1,
                 [&](LeaseStore& store) { return store.GetWatermark(name_space, machine_id); });
}

absl::StatusOr<std::vector<NamespaceRow>> MeteredLeaseStore::ListNamespaces(
    const std::string& after, int limit) {
  return Metered("list_namespaces", 1,
                 [&](LeaseStore& store) { return store.ListNamespaces(after, limit); });
}

absl::StatusOr<NamespaceDetail> MeteredLeaseStore::GetNamespace(const std::string& name) {
  return Metered("get_namespace", 1, [&](LeaseStore& store) { return store.GetNamespace(name); });
}

absl::StatusOr<std::vector<LeaseDetail>> MeteredLeaseStore::ListLeases(
    const std::string& name_space, const LeaseFilter& filter, uint32_t from, int limit) {
  return Metered("list_leases", 1, [&](LeaseStore& store) {
    return store.ListLeases(name_space, filter, from, limit);
  });
}

absl::StatusOr<LeaseHistory> MeteredLeaseStore::GetLease(const std::string& name_space,
                                                         uint32_t machine_id) {
  return Metered("get_lease", 1,
                 [&](LeaseStore& store) { return store.GetLease(name_space, machine_id); });
}

absl::StatusOr<std::vector<GrantRow>> MeteredLeaseStore::FindOwner(const std::string& name_space,
                                                                   uint32_t machine_id,
                                                                   ClientTime timestamp) {
  return Metered("find_owner", 1, [&](LeaseStore& store) {
    return store.FindOwner(name_space, machine_id, timestamp);
  });
}

absl::StatusOr<std::vector<AuditRow>> MeteredLeaseStore::ListAudit(const std::string& name_space,
                                                                   int limit) {
  return Metered("list_audit", 1,
                 [&](LeaseStore& store) { return store.ListAudit(name_space, limit); });
}

absl::StatusOr<NamespaceRow> MeteredLeaseStore::UpdateNamespace(const NamespaceUpdate& update,
                                                                const AdminContext& context) {
  return Metered("update_namespace", 1,
                 [&](LeaseStore& store) { return store.UpdateNamespace(update, context); });
}

absl::Status MeteredLeaseStore::DeleteNamespace(const std::string& name,
                                                const AdminContext& context) {
  return Metered("delete_namespace", 1,
                 [&](LeaseStore& store) { return store.DeleteNamespace(name, context); });
}

absl::StatusOr<ClientTime> MeteredLeaseStore::ForceRelease(const ForceReleaseSpec& spec,
                                                           const AdminContext& context) {
  return Metered("force_release", 1,
                 [&](LeaseStore& store) { return store.ForceRelease(spec, context); });
}

absl::Status MeteredLeaseStore::ReserveIds(const std::string& name_space,
                                           std::span<const uint32_t> ids,
                                           const AdminContext& context) {
  return Metered("reserve_ids", 1,
                 [&](LeaseStore& store) { return store.ReserveIds(name_space, ids, context); });
}

absl::Status MeteredLeaseStore::UnreserveIds(const std::string& name_space,
                                             std::span<const uint32_t> ids,
                                             std::optional<ClientTime> floor,
                                             const AdminContext& context) {
  return Metered("unreserve_ids", 1, [&](LeaseStore& store) {
    return store.UnreserveIds(name_space, ids, floor, context);
  });
}

absl::StatusOr<FenceSummary> MeteredLeaseStore::Fence(Millis ahead, const AdminContext& context) {
  return Metered("fence", 1, [&](LeaseStore& store) { return store.Fence(ahead, context); });
}

absl::Status MeteredLeaseStore::Migrate(MigrateMode mode) {
  return Metered("migrate", 1, [&](LeaseStore& store) { return store.Migrate(mode); });
}

absl::StatusOr<StoreTime> MeteredLeaseStore::Ping() {
  return Metered("ping", 1, [&](LeaseStore& store) { return store.Ping(); });
}

}  // namespace snowlease::storage
