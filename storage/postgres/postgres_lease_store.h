#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/lease_rules.h"
#include "storage/lease_store.h"

namespace snowlease::storage {

class BufferedLeaseRows;
class LeaseRows;
class PostgresBulkStatements;
class Session;
class SessionPool;
struct PostgresNames;
struct PostgresUrl;

struct PostgresOptions {
  // postgresql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?OPTION=VALUE, as libpq's, and
  // schema=NAME, connections=N (one of them for reads), timeout_ms=N.
  std::string url;
  // For tests: an SQL expression of milliseconds. Empty: the clock of the database.
  std::string store_clock;
};

// Leases in a PostgreSQL database, which any number of servers share. Each call is one
// transaction; a batch of renewals is one statement. Conflicts between transactions are
// repeated inside; lost connections are replaced, and calls that certainly did nothing
// or only renew are repeated then.
class PostgresLeaseStore final : public LeaseStore {
 public:
  // Does not connect. Errors: INVALID_ARGUMENT (store.url). The clock must outlive the
  // store.
  static absl::StatusOr<std::unique_ptr<PostgresLeaseStore>> Open(const PostgresOptions& postgres,
                                                                  const StoreOptions& options,
                                                                  Clock* clock);
  ~PostgresLeaseStore() override;

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
  PostgresLeaseStore(PostgresUrl url, std::string store_clock, StoreOptions options, Clock* clock);

  absl::Status CheckReady() const;
  SteadyTime DeadlineOf(SteadyTime deadline) const;
  Millis TimeLeft(SteadyTime deadline) const;

  // Runs `work` on a session of the pool, again where that helps.
  using SessionWork = std::function<void(Session&, Millis timeout)>;
  absl::Status OnSession(SessionPool& pool, SteadyTime deadline, const SessionWork& work);

  // Runs `work` in a transaction whose locks `prepare` has taken, and commits; otherwise
  // nothing has happened, or it is in doubt. It may run several times.
  using Prepare = std::function<void(BufferedLeaseRows&)>;
  using Work = std::function<void(LeaseRows&, const RuleContext&)>;
  absl::Status Write(SteadyTime deadline, const Prepare& prepare, const Work& work);
  // Runs `work` on one snapshot of the store.
  using ReadWork = std::function<void(PostgresBulkStatements&, LeaseRows&, const RuleContext&)>;
  absl::Status Read(const ReadWork& work);

  template <typename Result, typename Spec, typename Decide>
  std::vector<Result> WriteBatch(std::span<const Spec> specs, SteadyTime deadline,
                                 const Prepare& prepare, Decide decide);
  template <typename Result, typename Spec, typename Statement>
  std::vector<Result> RenewBatch(std::span<const Spec> specs, SteadyTime deadline,
                                 Statement statement);
  template <typename Result, typename Decide>
  Result WriteOne(const Prepare& prepare, Decide decide);
  template <typename T, typename Decide>
  absl::StatusOr<T> ReadOne(Decide decide);

  const std::unique_ptr<const PostgresUrl> url_;
  const std::string store_clock_;
  const StoreOptions options_;
  Clock* const clock_;
  std::unique_ptr<SessionPool> writers_;
  std::unique_ptr<SessionPool> readers_;

  mutable std::mutex schema_mutex_;
  std::unique_ptr<const PostgresNames> names_;  // made once, by Migrate
  std::string store_id_;
  std::atomic<bool> durable_{true};
  std::atomic<int> schema_version_{0};  // 0: Migrate has not succeeded yet
};

}  // namespace snowlease::storage
