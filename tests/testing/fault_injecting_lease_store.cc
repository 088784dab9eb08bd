#include "tests/testing/fault_injecting_lease_store.h"

#include <chrono>
#include <utility>

#include "storage/errors.h"

namespace snowlease::testing {

using namespace storage;  // NOLINT: this file is all about the store

namespace {

constexpr std::chrono::seconds kPatience{10};

}  // namespace

FaultInjectingLeaseStore::FaultInjectingLeaseStore(std::unique_ptr<LeaseStore> inner)
    : inner_(std::move(inner)) {}

FaultInjectingLeaseStore::~FaultInjectingLeaseStore() = default;

void FaultInjectingLeaseStore::FailNext(StoreOperation operation, int calls, absl::Status status) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < calls; ++i) ScriptOf(operation).faults.push_back({status, false});
}

void FaultInjectingLeaseStore::LoseAnswerOfNext(StoreOperation operation, int calls) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < calls; ++i) {
    ScriptOf(operation).faults.push_back(
        {StoreUnavailableError("connection lost, the outcome is not known"), true});
  }
}

void FaultInjectingLeaseStore::Block(StoreOperation operation) {
  const std::lock_guard lock(mutex_);
  ScriptOf(operation).blocked = true;
}

void FaultInjectingLeaseStore::Unblock(StoreOperation operation) {
  const std::lock_guard lock(mutex_);
  ScriptOf(operation).blocked = false;
  changed_.notify_all();
}

bool FaultInjectingLeaseStore::AwaitBlocked(StoreOperation operation, int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return ScriptOf(operation).hanging >= count; });
}

void FaultInjectingLeaseStore::SetBeforeCall(CallHook hook) {
  const std::lock_guard lock(mutex_);
  before_call_ = std::move(hook);
}

int FaultInjectingLeaseStore::Calls(StoreOperation operation) const {
  const std::lock_guard lock(mutex_);
  return ScriptOf(operation).calls;
}

size_t FaultInjectingLeaseStore::Elements(StoreOperation operation) const {
  const std::lock_guard lock(mutex_);
  return ScriptOf(operation).elements;
}

std::optional<FaultInjectingLeaseStore::Fault> FaultInjectingLeaseStore::Enter(
    StoreOperation operation, size_t elements) {
  CallHook hook;
  {
    const std::lock_guard lock(mutex_);
    hook = before_call_;
  }
  if (hook) hook(operation, elements);

  std::unique_lock lock(mutex_);
  Script& script = ScriptOf(operation);
  ++script.calls;
  script.elements += elements;
  ++script.hanging;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !script.blocked; });
  --script.hanging;
  if (script.faults.empty()) return std::nullopt;
  Fault fault = std::move(script.faults.front());
  script.faults.pop_front();
  return fault;
}

template <typename Call, typename Answer>
auto FaultInjectingLeaseStore::Perform(StoreOperation operation, size_t elements, Call call,
                                       Answer answer) {
  const std::optional<Fault> fault = Enter(operation, elements);
  if (!fault) return call();
  if (fault->perform) {
    [[maybe_unused]] const auto lost = call();
  }
  return answer(fault->status);
}

template <typename Call>
auto FaultInjectingLeaseStore::PerformOne(StoreOperation operation, Call call) {
  return Perform(operation, 1, call,
                 [](const absl::Status& status) -> decltype(call()) { return status; });
}

BatchResult<Lease> FaultInjectingLeaseStore::Claim(std::span<const ClaimSpec> specs,
                                                   const CallOptions& options) {
  return Perform(
      StoreOperation::kClaim, specs.size(), [&] { return inner_->Claim(specs, options); },
      [&](const absl::Status& status) { return BatchResult<Lease>(specs.size(), status); });
}

BatchResult<Lease> FaultInjectingLeaseStore::Renew(std::span<const RenewSpec> specs,
                                                   const CallOptions& options) {
  return Perform(
      StoreOperation::kRenew, specs.size(), [&] { return inner_->Renew(specs, options); },
      [&](const absl::Status& status) { return BatchResult<Lease>(specs.size(), status); });
}

std::vector<absl::Status> FaultInjectingLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                            const CallOptions& options) {
  return Perform(
      StoreOperation::kRelease, specs.size(), [&] { return inner_->Release(specs, options); },
      [&](const absl::Status& status) { return std::vector<absl::Status>(specs.size(), status); });
}

BatchResult<WatermarkReading> FaultInjectingLeaseStore::RaiseWatermark(
    std::span<const RaiseSpec> specs, const CallOptions& options) {
  return Perform(
      StoreOperation::kRaise, specs.size(), [&] { return inner_->RaiseWatermark(specs, options); },
      [&](const absl::Status& status) {
        return BatchResult<WatermarkReading>(specs.size(), status);
      });
}

absl::StatusOr<WatermarkReading> FaultInjectingLeaseStore::GetWatermark(
    const std::string& name_space, uint32_t machine_id) {
  return PerformOne(StoreOperation::kRead,
                    [&] { return inner_->GetWatermark(name_space, machine_id); });
}

absl::StatusOr<std::vector<NamespaceRow>> FaultInjectingLeaseStore::ListNamespaces(
    const std::string& after, int limit) {
  return PerformOne(StoreOperation::kRead, [&] { return inner_->ListNamespaces(after, limit); });
}

absl::StatusOr<NamespaceDetail> FaultInjectingLeaseStore::GetNamespace(const std::string& name) {
  return PerformOne(StoreOperation::kRead, [&] { return inner_->GetNamespace(name); });
}

absl::StatusOr<std::vector<LeaseDetail>> FaultInjectingLeaseStore::ListLeases(
    const std::string& name_space, const LeaseFilter& filter, uint32_t from, int limit) {
  return PerformOne(StoreOperation::kRead,
                    [&] { return inner_->ListLeases(name_space, filter, from, limit); });
}

absl::StatusOr<LeaseHistory> FaultInjectingLeaseStore::GetLease(const std::string& name_space,
                                                                uint32_t machine_id) {
  return PerformOne(StoreOperation::kRead,
                    [&] { return inner_->GetLease(name_space, machine_id); });
}

absl::StatusOr<std::vector<GrantRow>> FaultInjectingLeaseStore::FindOwner(
    const std::string& name_space, uint32_t machine_id, ClientTime timestamp) {
  return PerformOne(StoreOperation::kRead,
                    [&] { return inner_->FindOwner(name_space, machine_id, timestamp); });
}

absl::StatusOr<std::vector<AuditRow>> FaultInjectingLeaseStore::ListAudit(
    const std::string& name_space, int limit) {
  return PerformOne(StoreOperation::kRead, [&] { return inner_->ListAudit(name_space, limit); });
}

absl::StatusOr<NamespaceRow> FaultInjectingLeaseStore::UpdateNamespace(
    const NamespaceUpdate& update, const AdminContext& context) {
  return PerformOne(StoreOperation::kAdmin,
                    [&] { return inner_->UpdateNamespace(update, context); });
}

absl::Status FaultInjectingLeaseStore::DeleteNamespace(const std::string& name,
                                                       const AdminContext& context) {
  return PerformOne(StoreOperation::kAdmin, [&] { return inner_->DeleteNamespace(name, context); });
}

absl::StatusOr<ClientTime> FaultInjectingLeaseStore::ForceRelease(const ForceReleaseSpec& spec,
                                                                  const AdminContext& context) {
  return PerformOne(StoreOperation::kAdmin, [&] { return inner_->ForceRelease(spec, context); });
}

absl::Status FaultInjectingLeaseStore::ReserveIds(const std::string& name_space,
                                                  std::span<const uint32_t> ids,
                                                  const AdminContext& context) {
  return PerformOne(StoreOperation::kAdmin,
                    [&] { return inner_->ReserveIds(name_space, ids, context); });
}

absl::Status FaultInjectingLeaseStore::UnreserveIds(const std::string& name_space,
                                                    std::span<const uint32_t> ids,
                                                    std::optional<ClientTime> floor,
                                                    const AdminContext& context) {
  return PerformOne(StoreOperation::kAdmin,
                    [&] { return inner_->UnreserveIds(name_space, ids, floor, context); });
}

absl::StatusOr<FenceSummary> FaultInjectingLeaseStore::Fence(Millis ahead,
                                                             const AdminContext& context) {
  return PerformOne(StoreOperation::kAdmin, [&] { return inner_->Fence(ahead, context); });
}

absl::StatusOr<StoreTime> FaultInjectingLeaseStore::Ping() {
  return PerformOne(StoreOperation::kPing, [&] { return inner_->Ping(); });
}

}  // namespace snowlease::testing
