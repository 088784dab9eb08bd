#include "storage/memory/memory_lease_store.h"

#include <random>

#include "storage/admin_operations.h"
#include "storage/fence.h"
#include "storage/lease_operations.h"

namespace snowlease::storage {
namespace {

std::string RandomStoreId() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (int i = 0; i < 32; ++i) id += kDigits[random() % 16];
  return id;
}

}  // namespace

MemoryLeaseStore::MemoryLeaseStore(const StoreOptions& options, const Clock* host_clock,
                                   std::function<StoreTime()> store_clock)
    : options_(options),
      host_clock_(host_clock),
      store_clock_(std::move(store_clock)),
      store_id_(RandomStoreId()) {}

RuleContext MemoryLeaseStore::Now() const {
  const HostTime host_now = host_clock_->Now();
  return {store_clock_ ? store_clock_() : StoreTime{host_now.ms}, host_now, options_};
}

template <typename Operation>
auto MemoryLeaseStore::Locked(Operation operation) {
  const std::lock_guard lock(mutex_);
  return operation(rows_, Now());
}

template <typename Spec, typename Operation>
auto MemoryLeaseStore::LockedBatch(std::span<const Spec> specs, Operation operation) {
  const std::lock_guard lock(mutex_);
  const RuleContext context = Now();
  std::vector<decltype(operation(rows_, specs[0], context))> results;
  results.reserve(specs.size());
  for (const Spec& spec : specs) results.push_back(operation(rows_, spec, context));
  return results;
}

BatchResult<Lease> MemoryLeaseStore::Claim(std::span<const ClaimSpec> specs, const CallOptions&) {
  return LockedBatch(specs, ClaimLease);
}

BatchResult<Lease> MemoryLeaseStore::Renew(std::span<const RenewSpec> specs, const CallOptions&) {
  return LockedBatch(specs, RenewLease);
}

std::vector<absl::Status> MemoryLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                    const CallOptions&) {
  return LockedBatch(specs, ReleaseLease);
}

BatchResult<WatermarkReading> MemoryLeaseStore::RaiseWatermark(std::span<const RaiseSpec> specs,
                                                               const CallOptions&) {
  return LockedBatch(specs, RaiseLeaseWatermark);
}

absl::StatusOr<WatermarkReading> MemoryLeaseStore::GetWatermark(const std::string& name_space,
                                                                uint32_t machine_id) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return ReadWatermark(rows, name_space, machine_id, context);
  });
}

absl::StatusOr<std::vector<NamespaceRow>> MemoryLeaseStore::ListNamespaces(const std::string& after,
                                                                           int limit) {
  const std::lock_guard lock(mutex_);
  return rows_.Namespaces(after, limit);
}

absl::StatusOr<NamespaceDetail> MemoryLeaseStore::GetNamespace(const std::string& name) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return DescribeNamespace(rows, name, context);
  });
}

absl::StatusOr<std::vector<LeaseDetail>> MemoryLeaseStore::ListLeases(const std::string& name_space,
                                                                      const LeaseFilter& filter,
                                                                      uint32_t from, int limit) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::ListLeases(rows, name_space, filter, from, limit, context);
  });
}

absl::StatusOr<LeaseHistory> MemoryLeaseStore::GetLease(const std::string& name_space,
                                                        uint32_t machine_id) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return DescribeLease(rows, name_space, machine_id, context);
  });
}

absl::StatusOr<std::vector<GrantRow>> MemoryLeaseStore::FindOwner(const std::string& name_space,
                                                                  uint32_t machine_id,
                                                                  ClientTime timestamp) {
  return Locked([&](LeaseRows& rows, const RuleContext&) {
    return storage::FindOwner(rows, name_space, machine_id, timestamp);
  });
}

absl::StatusOr<std::vector<AuditRow>> MemoryLeaseStore::ListAudit(const std::string& name_space,
                                                                  int limit) {
  const std::lock_guard lock(mutex_);
  return rows_.Audit(name_space, limit);
}

absl::StatusOr<NamespaceRow> MemoryLeaseStore::UpdateNamespace(const NamespaceUpdate& update,
                                                               const AdminContext& admin) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::UpdateNamespace(rows, update, admin, context);
  });
}

absl::Status MemoryLeaseStore::DeleteNamespace(const std::string& name, const AdminContext& admin) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::DeleteNamespace(rows, name, admin, context);
  });
}

absl::StatusOr<ClientTime> MemoryLeaseStore::ForceRelease(const ForceReleaseSpec& spec,
                                                          const AdminContext& admin) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::ForceRelease(rows, spec, admin, context);
  });
}

absl::Status MemoryLeaseStore::ReserveIds(const std::string& name_space,
                                          std::span<const uint32_t> ids,
                                          const AdminContext& admin) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::ReserveIds(rows, name_space, ids, admin, context);
  });
}

absl::Status MemoryLeaseStore::UnreserveIds(const std::string& name_space,
                                            std::span<const uint32_t> ids,
                                            std::optional<ClientTime> floor,
                                            const AdminContext& admin) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::UnreserveIds(rows, name_space, ids, floor, admin, context);
  });
}

absl::StatusOr<FenceSummary> MemoryLeaseStore::Fence(Millis ahead, const AdminContext& admin) {
  return Locked([&](LeaseRows& rows, const RuleContext& context) {
    return storage::Fence(rows, ahead, admin, context);
  });
}

absl::Status MemoryLeaseStore::Migrate(MigrateMode) { return absl::OkStatus(); }

absl::StatusOr<StoreTime> MemoryLeaseStore::Ping() { return Now().now; }

Capabilities MemoryLeaseStore::GetCapabilities() const {
  return {.backend = "memory",
          .clock_source = "host",
          .durable = false,
          .transactional = true,
          .max_machine_bits = kMaxMachineBits,
          .connections = 1};
}

}  // namespace snowlease::storage
