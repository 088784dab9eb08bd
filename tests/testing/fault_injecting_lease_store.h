#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/lease_store.h"

namespace snowlease::testing {

enum class StoreOperation : uint8_t {
  kClaim,
  kRenew,
  kRelease,
  kRaise,
  kRead,   // every read
  kAdmin,  // every admin write
  kPing,
};
inline constexpr size_t kStoreOperations = 7;

// A store that fails, hangs or loses answers when a test says so, and otherwise
// passes everything to the store it wraps. Thread-safe.
class FaultInjectingLeaseStore final : public storage::LeaseStore {
 public:
  using CallHook = std::function<void(StoreOperation, size_t elements)>;

  explicit FaultInjectingLeaseStore(std::unique_ptr<storage::LeaseStore> inner);
  ~FaultInjectingLeaseStore() override;

  // The next `calls` calls of the operation answer `status` and do nothing.
  void FailNext(StoreOperation operation, int calls, absl::Status status);
  // The next `calls` calls are performed and answer STORE_UNAVAILABLE: in doubt.
  void LoseAnswerOfNext(StoreOperation operation, int calls);
  // Calls of the operation hang, before they reach the store, until Unblock.
  void Block(StoreOperation operation);
  void Unblock(StoreOperation operation);
  // Waits until `count` calls hang; false after 10 s of real time.
  bool AwaitBlocked(StoreOperation operation, int count);
  // Called before every call, on its thread; may take its time.
  void SetBeforeCall(CallHook hook);

  int Calls(StoreOperation operation) const;
  // Elements of all calls of the operation; a read or admin write counts as one.
  size_t Elements(StoreOperation operation) const;
  storage::LeaseStore& inner() { return *inner_; }

  storage::BatchResult<storage::Lease> Claim(std::span<const storage::ClaimSpec> specs,
                                             const storage::CallOptions& options) override;
  storage::BatchResult<storage::Lease> Renew(std::span<const storage::RenewSpec> specs,
                                             const storage::CallOptions& options) override;
  std::vector<absl::Status> Release(std::span<const storage::ReleaseSpec> specs,
                                    const storage::CallOptions& options) override;
  storage::BatchResult<storage::WatermarkReading> RaiseWatermark(
      std::span<const storage::RaiseSpec> specs, const storage::CallOptions& options) override;

  absl::StatusOr<storage::WatermarkReading> GetWatermark(const std::string& name_space,
                                                         uint32_t machine_id) override;
  absl::StatusOr<std::vector<storage::NamespaceRow>> ListNamespaces(const std::string& after,
                                                                    int limit) override;
  absl::StatusOr<storage::NamespaceDetail> GetNamespace(const std::string& name) override;
  absl::StatusOr<std::vector<storage::LeaseDetail>> ListLeases(const std::string& name_space,
                                                               const storage::LeaseFilter& filter,
                                                               uint32_t from, int limit) override;
  absl::StatusOr<storage::LeaseHistory> GetLease(const std::string& name_space,
                                                 uint32_t machine_id) override;
  absl::StatusOr<std::vector<storage::GrantRow>> FindOwner(const std::string& name_space,
                                                           uint32_t machine_id,
                                                           storage::ClientTime timestamp) override;
  absl::StatusOr<std::vector<storage::AuditRow>> ListAudit(const std::string& name_space,
                                                           int limit) override;

  absl::StatusOr<storage::NamespaceRow> UpdateNamespace(
      const storage::NamespaceUpdate& update, const storage::AdminContext& context) override;
  absl::Status DeleteNamespace(const std::string& name,
                               const storage::AdminContext& context) override;
  absl::StatusOr<storage::ClientTime> ForceRelease(const storage::ForceReleaseSpec& spec,
                                                   const storage::AdminContext& context) override;
  absl::Status ReserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                          const storage::AdminContext& context) override;
  absl::Status UnreserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                            std::optional<storage::ClientTime> floor,
                            const storage::AdminContext& context) override;
  absl::StatusOr<storage::FenceSummary> Fence(storage::Millis ahead,
                                              const storage::AdminContext& context) override;

  absl::Status Migrate(storage::MigrateMode mode) override { return inner_->Migrate(mode); }
  absl::StatusOr<storage::StoreTime> Ping() override;
  storage::Capabilities GetCapabilities() const override { return inner_->GetCapabilities(); }
  std::string StoreId() const override { return inner_->StoreId(); }
  int SchemaVersion() const override { return inner_->SchemaVersion(); }

 private:
  struct Fault {
    absl::Status status;
    bool perform = false;
  };
  struct Script {
    std::deque<Fault> faults;
    bool blocked = false;
    int hanging = 0;
    int calls = 0;
    size_t elements = 0;
  };

  Script& ScriptOf(StoreOperation operation) { return scripts_[static_cast<size_t>(operation)]; }
  const Script& ScriptOf(StoreOperation operation) const {
    return scripts_[static_cast<size_t>(operation)];
  }
  // Counts the call, hangs if told so, and answers the fault that is due.
  std::optional<Fault> Enter(StoreOperation operation, size_t elements);
  // One call of the wrapped store, or `answer(status)` when a fault is due.
  template <typename Call, typename Answer>
  auto Perform(StoreOperation operation, size_t elements, Call call, Answer answer);
  template <typename Call>
  auto PerformOne(StoreOperation operation, Call call);

  const std::unique_ptr<storage::LeaseStore> inner_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Script, kStoreOperations> scripts_;
  CallHook before_call_;
};

}  // namespace snowlease::testing
