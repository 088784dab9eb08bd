#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/lease_rows.h"
#include "storage/lease_rules.h"
#include "storage/lease_store.h"
#include "storage/mysql/mysql_options.h"

namespace snowlease::storage {

class BufferedLeaseRows;

namespace mysql {
class ConnectionPool;
class MysqlStatements;
}  // namespace mysql

// Leases in MySQL 8.0 or later or MariaDB 10.6 or later (InnoDB). Each batch is one
// transaction under row locks; renewals lock nothing but their own rows. Batches whose
// locks were refused are repeated, and so are those whose connection was lost before their
// commit was sent; lost connections are made anew. Connects when it is first used.
class MysqlLeaseStore final : public LeaseStore {
 public:
  // The clock must outlive the store.
  MysqlLeaseStore(MysqlOptions mysql, StoreOptions options, Clock* clock);
  ~MysqlLeaseStore() override;

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
  std::string StoreId() const override;
  int SchemaVersion() const override;

 private:
  // One transaction: locks and reads ahead, then works under the time read under the locks.
  struct Work {
    std::function<void(BufferedLeaseRows&)> prepare;
    std::function<void(BufferedLeaseRows&, mysql::MysqlStatements&, const RuleContext&)> run;
  };

  absl::Status CheckReady() const;
  absl::Status Write(SteadyTime deadline, const Work& work);
  absl::Status Read(const Work& work);
  void Pause(Millis time);
  // Runs `attempt` until it is done, or repeating it is of no use.
  absl::Status Repeatedly(SteadyTime deadline, const std::function<void()>& attempt);
  RuleContext ContextAt(StoreTime database_now) const;

  template <typename Result, typename Spec, typename Prepare, typename Decide>
  std::vector<Result> WriteBatch(std::span<const Spec> specs, SteadyTime deadline, Prepare prepare,
                                 Decide decide);
  template <typename Result, typename Decide>
  Result WriteOne(const std::string& name_space, bool may_create, Decide decide);
  template <typename Result, typename Decide>
  Result ReadOne(Decide decide);

  const MysqlOptions mysql_;
  const StoreOptions options_;
  Clock* const clock_;
  std::unique_ptr<mysql::ConnectionPool> writers_;
  std::unique_ptr<mysql::ConnectionPool> readers_;  // so that reads do not wait for batches

  mutable std::mutex schema_mutex_;
  std::string store_id_;
  std::atomic<int> schema_version_{0};  // 0: Migrate has not succeeded yet
};

}  // namespace snowlease::storage
