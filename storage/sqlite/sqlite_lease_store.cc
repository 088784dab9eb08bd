#include "storage/sqlite/sqlite_lease_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "storage/admin_operations.h"
#include "storage/errors.h"
#include "storage/fence.h"
#include "storage/lease_operations.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/file_lock.h"
#include "storage/sqlite/schema/schema.h"
#include "storage/sqlite/sqlite_errors.h"
#include "storage/sqlite/sqlite_lease_rows.h"
#include "storage/sqlite/wal_checkpointer.h"

namespace snowlease::storage {
namespace {

constexpr char kWriterSettings[] =
    "PRAGMA journal_mode = WAL;"
    // The commit of a transaction reaches the disk before it is acknowledged.
    "PRAGMA synchronous = FULL;"
    "PRAGMA cache_size = -16384;"
    "PRAGMA temp_store = MEMORY;";

absl::Status CheckPath(const std::string& path) {
  const auto refuse = [](const std::string& what) {
    return InvalidArgumentError(
        {{"store.url", what + "; write sqlite:PATH, for example sqlite:./data/snowlease.db"}});
  };
  if (path.empty()) return refuse("the SQLite store needs the path of a file");
  if (path.front() == ':') {
    return refuse("\"" + path + "\" is not a file, and a lease must be kept in one");
  }
  if (path.starts_with("file:")) return refuse("SQLite's file: URIs are not taken");
  if (path.find('\0') != std::string::npos) return refuse("the path has a NUL byte");
  if (path.back() == '/') return refuse("\"" + path + "\" is a directory");
  return absl::OkStatus();
}

// Runs `work` at the backend's border, where exceptions end.
template <typename F>
absl::Status Guarded(F work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const StoreFailure& failure) {
    return failure.status();
  } catch (const std::exception& error) {
    return InternalError(std::string("SQLite store: ") + error.what());
  }
}

int KeepWalLength(void* length, sqlite3*, const char*, int pages) {
  *static_cast<int*>(length) = pages;
  return SQLITE_OK;
}

}  // namespace

SqliteLeaseStore::SqliteLeaseStore(SqliteOptions sqlite, StoreOptions options, Clock* clock)
    : sqlite_(std::move(sqlite)), options_(std::move(options)), clock_(clock) {}

SqliteLeaseStore::~SqliteLeaseStore() = default;

absl::StatusOr<std::unique_ptr<SqliteLeaseStore>> SqliteLeaseStore::Open(
    const SqliteOptions& sqlite, const StoreOptions& options, Clock* clock) {
  if (absl::Status status = CheckPath(sqlite.path); !status.ok()) return status;
  std::unique_ptr<SqliteLeaseStore> store(new SqliteLeaseStore(sqlite, options, clock));
  if (absl::Status status = Guarded([&] { store->OpenFiles(); }); !status.ok()) return status;
  return store;
}

void SqliteLeaseStore::OpenFiles() {
  const std::string path = PrepareFile(sqlite_.path);
  lock_ = std::make_unique<FileLock>(path, sqlite_.lock_wait);
  writer_ = std::make_unique<Connection>(path, Connection::Access::kReadWrite);
  // SQLite opens a file that may only be read without a word.
  if (sqlite3_db_readonly(writer_->handle(), "main") == 1) {
    writer_->Fail(SQLITE_READONLY, "open");
  }
  writer_->SetBusyTimeout(sqlite_.busy_timeout);
  writer_->Execute(kWriterSettings);
  // Twice what is normal: a log that is cut each time would have to grow each time.
  writer_->Execute("PRAGMA journal_size_limit = " +
                   std::to_string(int64_t{sqlite_.wal_autocheckpoint} * 2 * 4096));
  // Also ends SQLite's own automatic checkpoint.
  sqlite3_wal_hook(writer_->handle(), KeepWalLength, &wal_pages_);
  writer_rows_ = std::make_unique<SqliteLeaseRows>(writer_.get());
  // Reads at once, so that a file that is no database is found now.
  writer_->Execute("SELECT count(*) FROM sqlite_master");

  struct stat file {};
  if (stat(path.c_str(), &file) != 0) throw StoreFailure(FileError(errno, path, "look at"));
  file_inode_ = file.st_ino;
  reader_ = std::make_unique<Connection>(path, Connection::Access::kReadOnly);
  reader_->SetBusyTimeout(sqlite_.busy_timeout);
  reader_rows_ = std::make_unique<SqliteLeaseRows>(reader_.get());
  checkpointer_ = std::make_unique<WalCheckpointer>(path, sqlite_.wal_autocheckpoint);
}

RuleContext SqliteLeaseStore::ContextNow() const {
  const HostTime host_now = clock_->Now();
  return {sqlite_.store_clock ? sqlite_.store_clock() : StoreTime{host_now.ms}, host_now, options_};
}

absl::Status SqliteLeaseStore::CheckReady() const {
  if (schema_version_ > 0) return absl::OkStatus();
  return StoreUnavailableError("the schema of " + sqlite_.path +
                               " has not been found good: run `snowlease-server migrate`, or "
                               "start with --store-migrate=auto");
}

Millis SqliteLeaseStore::BusyTimeout(SteadyTime deadline) const {
  if (deadline == SteadyTime::max()) return sqlite_.busy_timeout;
  const auto left = std::chrono::duration_cast<Millis>(deadline - clock_->SteadyNow());
  return std::clamp(left, Millis(0), sqlite_.busy_timeout);
}

absl::Status SqliteLeaseStore::Write(SteadyTime deadline, const Work& work) {
  const std::lock_guard lock(writer_mutex_);
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  // The wait for the connection may have been long.
  if (clock_->SteadyNow() >= deadline) {
    return StoreTimeoutError("the deadline passed while other calls were using the store");
  }
  const absl::Status status = Guarded([&] {
    writer_->SetBusyTimeout(BusyTimeout(deadline));
    Transaction transaction(writer_.get(), Transaction::Kind::kWrite);
    writer_rows_->Begin();
    work(*writer_rows_, ContextNow());
    writer_rows_->Flush();
    transaction.Commit();
  });
  if (status.ok()) KeepWalShort();
  return status;
}

void SqliteLeaseStore::KeepWalShort() {
  if (!checkpointer_->OnCommit(wal_pages_)) return;
  // What it cannot copy now, it copies after a later commit; nothing is lost meanwhile.
  sqlite3_wal_checkpoint_v2(writer_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
}

absl::Status SqliteLeaseStore::Read(const ReadWork& work) {
  const std::lock_guard lock(reader_mutex_);
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  return Guarded([&] {
    const Transaction transaction(reader_.get(), Transaction::Kind::kRead);
    reader_rows_->Begin();
    work(*reader_rows_, ContextNow());
  });
}

template <typename Result, typename Spec, typename Decide>
std::vector<Result> SqliteLeaseStore::WriteBatch(std::span<const Spec> specs, SteadyTime deadline,
                                                 Decide decide) {
  std::vector<Result> results;
  if (specs.empty()) return results;
  results.reserve(specs.size());
  const absl::Status status = Write(deadline, [&](LeaseRows& rows, const RuleContext& context) {
    for (const Spec& spec : specs) results.push_back(decide(rows, spec, context));
  });
  if (!status.ok()) results.assign(specs.size(), Result(status));
  return results;
}

template <typename T, typename Decide>
absl::StatusOr<T> SqliteLeaseStore::WriteOne(Decide decide) {
  absl::StatusOr<T> result = InternalError("no answer");
  const absl::Status status =
      Write(SteadyTime::max(),
            [&](LeaseRows& rows, const RuleContext& context) { result = decide(rows, context); });
  return status.ok() ? std::move(result) : absl::StatusOr<T>(status);
}

template <typename Decide>
absl::Status SqliteLeaseStore::WriteStatus(Decide decide) {
  absl::Status result;
  const absl::Status status =
      Write(SteadyTime::max(),
            [&](LeaseRows& rows, const RuleContext& context) { result = decide(rows, context); });
  return status.ok() ? result : status;
}

template <typename T, typename Decide>
absl::StatusOr<T> SqliteLeaseStore::ReadOne(Decide decide) {
  absl::StatusOr<T> result = InternalError("no answer");
  const absl::Status status = Read(
      [&](SqliteLeaseRows& rows, const RuleContext& context) { result = decide(rows, context); });
  return status.ok() ? std::move(result) : absl::StatusOr<T>(status);
}

BatchResult<Lease> SqliteLeaseStore::Claim(std::span<const ClaimSpec> specs,
                                           const CallOptions& options) {
  return WriteBatch<absl::StatusOr<Lease>>(specs, options.deadline, ClaimLease);
}

BatchResult<Lease> SqliteLeaseStore::Renew(std::span<const RenewSpec> specs,
                                           const CallOptions& options) {
  return WriteBatch<absl::StatusOr<Lease>>(specs, options.deadline, RenewLease);
}

std::vector<absl::Status> SqliteLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                    const CallOptions& options) {
  return WriteBatch<absl::Status>(specs, options.deadline, ReleaseLease);
}

BatchResult<WatermarkReading> SqliteLeaseStore::RaiseWatermark(std::span<const RaiseSpec> specs,
                                                               const CallOptions& options) {
  return WriteBatch<absl::StatusOr<WatermarkReading>>(specs, options.deadline, RaiseLeaseWatermark);
}

absl::StatusOr<WatermarkReading> SqliteLeaseStore::GetWatermark(const std::string& name_space,
                                                                uint32_t machine_id) {
  return ReadOne<WatermarkReading>([&](LeaseRows& rows, const RuleContext& context) {
    return ReadWatermark(rows, name_space, machine_id, context);
  });
}

absl::StatusOr<std::vector<NamespaceRow>> SqliteLeaseStore::ListNamespaces(const std::string& after,
                                                                           int limit) {
  return ReadOne<std::vector<NamespaceRow>>(
      [&](SqliteLeaseRows& rows, const RuleContext&) { return rows.Namespaces(after, limit); });
}

absl::StatusOr<NamespaceDetail> SqliteLeaseStore::GetNamespace(const std::string& name) {
  return ReadOne<NamespaceDetail>([&](LeaseRows& rows, const RuleContext& context) {
    return DescribeNamespace(rows, name, context);
  });
}

absl::StatusOr<std::vector<LeaseDetail>> SqliteLeaseStore::ListLeases(const std::string& name_space,
                                                                      const LeaseFilter& filter,
                                                                      uint32_t from, int limit) {
  return ReadOne<std::vector<LeaseDetail>>([&](LeaseRows& rows, const RuleContext& context) {
    return storage::ListLeases(rows, name_space, filter, from, limit, context);
  });
}

absl::StatusOr<LeaseHistory> SqliteLeaseStore::GetLease(const std::string& name_space,
                                                        uint32_t machine_id) {
  return ReadOne<LeaseHistory>([&](LeaseRows& rows, const RuleContext& context) {
    return DescribeLease(rows, name_space, machine_id, context);
  });
}

absl::StatusOr<std::vector<GrantRow>> SqliteLeaseStore::FindOwner(const std::string& name_space,
                                                                  uint32_t machine_id,
                                                                  ClientTime timestamp) {
  return ReadOne<std::vector<GrantRow>>([&](LeaseRows& rows, const RuleContext&) {
    return storage::FindOwner(rows, name_space, machine_id, timestamp);
  });
}

absl::StatusOr<std::vector<AuditRow>> SqliteLeaseStore::ListAudit(const std::string& name_space,
                                                                  int limit) {
  return ReadOne<std::vector<AuditRow>>(
      [&](SqliteLeaseRows& rows, const RuleContext&) { return rows.Audit(name_space, limit); });
}

absl::StatusOr<NamespaceRow> SqliteLeaseStore::UpdateNamespace(const NamespaceUpdate& update,
                                                               const AdminContext& admin) {
  return WriteOne<NamespaceRow>([&](LeaseRows& rows, const RuleContext& context) {
    return storage::UpdateNamespace(rows, update, admin, context);
  });
}

absl::Status SqliteLeaseStore::DeleteNamespace(const std::string& name, const AdminContext& admin) {
  return WriteStatus([&](LeaseRows& rows, const RuleContext& context) {
    return storage::DeleteNamespace(rows, name, admin, context);
  });
}

absl::StatusOr<ClientTime> SqliteLeaseStore::ForceRelease(const ForceReleaseSpec& spec,
                                                          const AdminContext& admin) {
  return WriteOne<ClientTime>([&](LeaseRows& rows, const RuleContext& context) {
    return storage::ForceRelease(rows, spec, admin, context);
  });
}

absl::Status SqliteLeaseStore::ReserveIds(const std::string& name_space,
                                          std::span<const uint32_t> ids,
                                          const AdminContext& admin) {
  return WriteStatus([&](LeaseRows& rows, const RuleContext& context) {
    return storage::ReserveIds(rows, name_space, ids, admin, context);
  });
}

absl::Status SqliteLeaseStore::UnreserveIds(const std::string& name_space,
                                            std::span<const uint32_t> ids,
                                            std::optional<ClientTime> floor,
                                            const AdminContext& admin) {
  return WriteStatus([&](LeaseRows& rows, const RuleContext& context) {
    return storage::UnreserveIds(rows, name_space, ids, floor, admin, context);
  });
}

absl::StatusOr<FenceSummary> SqliteLeaseStore::Fence(Millis ahead, const AdminContext& admin) {
  return WriteOne<FenceSummary>([&](LeaseRows& rows, const RuleContext& context) {
    return storage::Fence(rows, ahead, admin, context);
  });
}

absl::Status SqliteLeaseStore::Migrate(MigrateMode mode) {
  const std::lock_guard lock(writer_mutex_);
  return Guarded([&] {
    const SchemaState state = MigrateSchema(*writer_, mode);
    const std::lock_guard schema_lock(schema_mutex_);
    store_id_ = state.store_id;
    schema_version_ = state.version;
  });
}

absl::StatusOr<StoreTime> SqliteLeaseStore::Ping() {
  return ReadOne<StoreTime>([&](SqliteLeaseRows& rows, const RuleContext& context) {
    rows.Touch();
    CheckFileIsOurs();
    return absl::StatusOr<StoreTime>(context.now);
  });
}

// A file that was removed or replaced would take everything acknowledged with it at
// the next start, without an error before.
void SqliteLeaseStore::CheckFileIsOurs() const {
  struct stat now {};
  const std::string& path = reader_->path();
  if (stat(path.c_str(), &now) == 0 && now.st_ino == file_inode_) return;
  throw StoreFailure(StoreUnavailableError(
      path +
      " was removed or replaced while the server runs: put the original file back (its "
      "leases are lost otherwise), or restart the server"));
}

Capabilities SqliteLeaseStore::GetCapabilities() const {
  return {.backend = "sqlite",
          .clock_source = "host",
          .durable = true,
          .transactional = true,
          .max_machine_bits = kMaxMachineBits,
          .connections = 1};
}

std::string SqliteLeaseStore::StoreId() const {
  const std::lock_guard lock(schema_mutex_);
  return store_id_;
}

int SqliteLeaseStore::SchemaVersion() const { return schema_version_; }

}  // namespace snowlease::storage
