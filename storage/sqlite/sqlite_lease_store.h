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

namespace snowlease::storage {

class Connection;
class FileLock;
class SqliteLeaseRows;
class WalCheckpointer;

struct SqliteOptions {
  std::string path;
  // WAL pages after which they are copied into the database file; see wal_checkpointer.h.
  int wal_autocheckpoint = 16'384;
  // Longest wait for another process's lock on the database (the sqlite3 shell, a backup).
  Millis busy_timeout{5'000};
  // Longest wait for the server before this one to let go of the file.
  Millis lock_wait{2'000};
  // For tests; none: the host's clock.
  std::function<StoreTime()> store_clock;
};

// Leases in one SQLite file (WAL, synchronous=FULL): what is acknowledged survives a
// crash of process or host. Writes run on one connection, one batch after the other,
// each batch one transaction; reads run beside them on a second connection.
// The file belongs to one store at a time: PATH.lock is locked while it is open.
class SqliteLeaseStore final : public LeaseStore {
 public:
  // Makes file (mode 0600) and directory when missing; the schema is made by Migrate.
  // Errors: INVALID_ARGUMENT (not a path), STORE_UNAVAILABLE (in use by another
  // server, no right, a directory), INTERNAL (not a database, or a damaged one).
  // The clock must outlive the store.
  static absl::StatusOr<std::unique_ptr<SqliteLeaseStore>> Open(const SqliteOptions& sqlite,
                                                                const StoreOptions& options,
                                                                Clock* clock);
  ~SqliteLeaseStore() override;

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
  SqliteLeaseStore(SqliteOptions sqlite, StoreOptions options, Clock* clock);
  void OpenFiles();  // throws StoreFailure

  RuleContext ContextNow() const;
  absl::Status CheckReady() const;
  // The wait for locks that the caller's deadline leaves.
  Millis BusyTimeout(SteadyTime deadline) const;

  // Runs `work` in a write transaction and commits; otherwise nothing has happened.
  using Work = std::function<void(LeaseRows&, const RuleContext&)>;
  absl::Status Write(SteadyTime deadline, const Work& work);
  void KeepWalShort();
  void CheckFileIsOurs() const;  // throws StoreFailure
  // Runs `work` on one snapshot of the store, beside the writer.
  using ReadWork = std::function<void(SqliteLeaseRows&, const RuleContext&)>;
  absl::Status Read(const ReadWork& work);

  template <typename Result, typename Spec, typename Decide>
  std::vector<Result> WriteBatch(std::span<const Spec> specs, SteadyTime deadline, Decide decide);
  template <typename T, typename Decide>
  absl::StatusOr<T> WriteOne(Decide decide);
  template <typename Decide>
  absl::Status WriteStatus(Decide decide);
  template <typename T, typename Decide>
  absl::StatusOr<T> ReadOne(Decide decide);

  const SqliteOptions sqlite_;
  const StoreOptions options_;
  Clock* const clock_;

  // Destroyed in reverse: connections before the lock, statements before connections.
  std::unique_ptr<FileLock> lock_;
  std::mutex writer_mutex_;
  std::unique_ptr<Connection> writer_;
  std::unique_ptr<SqliteLeaseRows> writer_rows_;
  std::mutex reader_mutex_;
  std::unique_ptr<Connection> reader_;
  std::unique_ptr<SqliteLeaseRows> reader_rows_;
  std::unique_ptr<WalCheckpointer> checkpointer_;
  int wal_pages_ = 0;  // after the last commit; under writer_mutex_
  uint64_t file_inode_ = 0;

  mutable std::mutex schema_mutex_;
  std::string store_id_;
  std::atomic<int> schema_version_{0};  // 0: Migrate has not succeeded yet
};

}  // namespace snowlease::storage
