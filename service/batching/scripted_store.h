#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/errors.h"
#include "storage/lease_store.h"

namespace snowlease::service::testing {

// A store that remembers what it was asked and answers as a test says. Renewals keep the
// highest window end per lease (client time + 1000), as a store would. Thread-safe.
class ScriptedStore : public storage::LeaseStore {
 public:
  template <typename T>
  using Asked = std::vector<std::vector<T>>;

  // Called on the store thread before each call answers; may throw or wait.
  void SetBeforeAnswer(std::function<void()> hook) { before_answer_ = std::move(hook); }
  void AnswerTooFew() { too_few_ = true; }
  void SetConnections(int connections) { connections_ = connections; }

  // Calls hang until Open.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  // Waits until `calls` store calls have begun; false after 10 s.
  bool AwaitCalls(int calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return calls_ >= calls; });
  }

  Asked<storage::ClaimSpec> claims() const { return Copy(claims_); }
  Asked<storage::RenewSpec> renewals() const { return Copy(renewals_); }
  Asked<storage::ReleaseSpec> releases() const { return Copy(releases_); }
  Asked<storage::RaiseSpec> raises() const { return Copy(raises_); }
  std::vector<storage::SteadyTime> deadlines() const { return Copy(deadlines_); }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  storage::ClientTime StoredWindowEnd(uint32_t machine_id) const {
    const std::lock_guard lock(mutex_);
    return window_ends_.at(machine_id);
  }

  storage::BatchResult<storage::Lease> Claim(std::span<const storage::ClaimSpec> specs,
                                             const storage::CallOptions& options) override {
    Enter(&claims_, specs, options);
    storage::BatchResult<storage::Lease> results;
    for (const storage::ClaimSpec& spec : specs) {
      storage::Lease lease;
      lease.row.name_space = spec.name_space;
      lease.row.instance_id = spec.instance_id;
      results.push_back(lease);
    }
    return Cut(results);
  }
  storage::BatchResult<storage::Lease> Renew(std::span<const storage::RenewSpec> specs,
                                             const storage::CallOptions& options) override {
    Enter(&renewals_, specs, options);
    const std::lock_guard lock(mutex_);
    storage::BatchResult<storage::Lease> results;
    for (const storage::RenewSpec& spec : specs) {
      storage::ClientTime& end = window_ends_[spec.grant.machine_id];
      end = std::max(end, spec.client_time + storage::Millis(1000));
      storage::Lease lease;
      lease.row.machine_id = spec.grant.machine_id;
      lease.row.window_end = end;
      lease.row.watermark = spec.last_timestamp;
      results.push_back(lease);
    }
    return Cut(results);
  }
  std::vector<absl::Status> Release(std::span<const storage::ReleaseSpec> specs,
                                    const storage::CallOptions& options) override {
    Enter(&releases_, specs, options);
    return Cut(std::vector<absl::Status>(specs.size()));
  }
  storage::BatchResult<storage::WatermarkReading> RaiseWatermark(
      std::span<const storage::RaiseSpec> specs, const storage::CallOptions& options) override {
    Enter(&raises_, specs, options);
    storage::BatchResult<storage::WatermarkReading> results;
    for (const storage::RaiseSpec& spec : specs) {
      results.push_back(storage::WatermarkReading{spec.raise_to, {}});
    }
    return Cut(results);
  }

  absl::StatusOr<storage::WatermarkReading> GetWatermark(const std::string&, uint32_t) override {
    return None();
  }
  absl::StatusOr<std::vector<storage::NamespaceRow>> ListNamespaces(const std::string&,
                                                                    int) override {
    return None();
  }
  absl::StatusOr<storage::NamespaceDetail> GetNamespace(const std::string&) override {
    return None();
  }
  absl::StatusOr<std::vector<storage::LeaseDetail>> ListLeases(const std::string&,
                                                               const storage::LeaseFilter&,
                                                               uint32_t, int) override {
    return None();
  }
  absl::StatusOr<storage::LeaseHistory> GetLease(const std::string&, uint32_t) override {
    return None();
  }
  absl::StatusOr<std::vector<storage::GrantRow>> FindOwner(const std::string&, uint32_t,
                                                           storage::ClientTime) override {
    return None();
  }
  absl::StatusOr<std::vector<storage::AuditRow>> ListAudit(const std::string&, int) override {
    return None();
  }
  absl::StatusOr<storage::NamespaceRow> UpdateNamespace(const storage::NamespaceUpdate&,
                                                        const storage::AdminContext&) override {
    return None();
  }
  absl::Status DeleteNamespace(const std::string&, const storage::AdminContext&) override {
    return None();
  }
  absl::StatusOr<storage::ClientTime> ForceRelease(const storage::ForceReleaseSpec&,
                                                   const storage::AdminContext&) override {
    return None();
  }
  absl::Status ReserveIds(const std::string&, std::span<const uint32_t>,
                          const storage::AdminContext&) override {
    return None();
  }
  absl::Status UnreserveIds(const std::string&, std::span<const uint32_t>,
                            std::optional<storage::ClientTime>,
                            const storage::AdminContext&) override {
    return None();
  }
  absl::StatusOr<storage::FenceSummary> Fence(storage::Millis,
                                              const storage::AdminContext&) override {
    return None();
  }
  absl::Status Migrate(storage::MigrateMode) override { return absl::OkStatus(); }
  absl::StatusOr<storage::StoreTime> Ping() override { return storage::StoreTime{}; }
  storage::Capabilities GetCapabilities() const override {
    storage::Capabilities capabilities;
    capabilities.connections = connections_;
    return capabilities;
  }
  std::string StoreId() const override { return "scripted"; }
  int SchemaVersion() const override { return 1; }

 private:
  static absl::Status None() { return storage::NotFoundError("this store keeps batches only"); }

  template <typename T>
  T Copy(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  template <typename T>
  void Enter(Asked<T>* asked, std::span<const T> specs, const storage::CallOptions& options) {
    {
      std::unique_lock lock(mutex_);
      asked->emplace_back(specs.begin(), specs.end());
      deadlines_.push_back(options.deadline);
      ++calls_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !closed_; });
    }
    if (before_answer_) before_answer_();
  }

  template <typename T>
  T Cut(T results) const {
    if (too_few_) results.pop_back();
    return results;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> before_answer_;
  bool too_few_ = false;
  int connections_ = 1;
  bool closed_ = false;
  int calls_ = 0;
  Asked<storage::ClaimSpec> claims_;
  Asked<storage::RenewSpec> renewals_;
  Asked<storage::ReleaseSpec> releases_;
  Asked<storage::RaiseSpec> raises_;
  std::vector<storage::SteadyTime> deadlines_;
  std::map<uint32_t, storage::ClientTime> window_ends_;
};

}  // namespace snowlease::service::testing
