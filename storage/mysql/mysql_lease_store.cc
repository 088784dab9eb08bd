#include "storage/mysql/mysql_lease_store.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>

#include "storage/admin_operations.h"
#include "storage/errors.h"
#include "storage/fence.h"
#include "storage/lease_operations.h"
#include "storage/mysql/connection_pool.h"
#include "storage/mysql/mysql_statements.h"
#include "storage/mysql/schema/schema.h"
#include "storage/sql/buffered_lease_rows.h"

namespace snowlease::storage {

using mysql::AfterFailure;
using mysql::Connection;
using mysql::ConnectionPool;
using mysql::DatabaseFailure;
using mysql::MysqlStatements;

namespace {

// Each deadlock lets another batch through, but on a busy node of a cluster that may be
// another node's many times in a row. Mostly the deadline ends it first.
constexpr int kMostAttempts = 100;
// One connection may have been closed by wait_timeout, and the next one by a restart.
constexpr int kMostConnections = 3;
// Before a repeat. At the same pace one node of a cluster would always lose to the other.
constexpr int64_t kLongestPauseMs = 64;

Millis PauseBefore(int attempt) {
  thread_local std::minstd_rand dice{std::random_device{}()};
  const int64_t most = std::min(int64_t{1} << std::min(attempt, 10), kLongestPauseMs);
  return Millis(std::uniform_int_distribution<int64_t>(0, most)(dice));
}

template <typename Spec>
std::vector<GrantKey> GrantsOf(std::span<const Spec> specs) {
  std::vector<GrantKey> grants;
  grants.reserve(specs.size());
  for (const Spec& spec : specs) grants.push_back(spec.grant);
  return grants;
}

template <typename Spec>
auto ForRenewals(std::span<const Spec> specs) {
  return [specs](BufferedLeaseRows& rows) { rows.PrepareRenewals(GrantsOf(specs)); };
}

}  // namespace

MysqlLeaseStore::MysqlLeaseStore(MysqlOptions mysql, StoreOptions options, Clock* clock)
    : mysql_(std::move(mysql)),
      options_(std::move(options)),
      clock_(clock),
      writers_(std::make_unique<ConnectionPool>(&mysql_, mysql_.connections, clock)),
      readers_(std::make_unique<ConnectionPool>(&mysql_, 1, clock)) {}

MysqlLeaseStore::~MysqlLeaseStore() = default;

RuleContext MysqlLeaseStore::ContextAt(StoreTime database_now) const {
  return {mysql_.store_clock ? mysql_.store_clock(database_now) : database_now, clock_->Now(),
          options_};
}

absl::Status MysqlLeaseStore::CheckReady() const {
  if (schema_version_ > 0) return absl::OkStatus();
  return StoreUnavailableError(
      "the schema of the database has not been found good: run `snowlease-server migrate`, or "
      "start with --migrate=auto");
}

void MysqlLeaseStore::Pause(Millis time) {
  std::mutex mutex;
  std::condition_variable nobody_notifies;
  std::unique_lock lock(mutex);
  clock_->WaitUntil(nobody_notifies, lock, clock_->SteadyNow() + time);
}

absl::Status MysqlLeaseStore::Repeatedly(SteadyTime deadline,
                                         const std::function<void()>& attempt) {
  int connections = 0;
  int waits = 0;
  for (int attempts = 1;; ++attempts) {
    try {
      attempt();
      return absl::OkStatus();
    } catch (const DatabaseFailure& failure) {
      if (failure.after() == AfterFailure::kGiveUp || attempts == kMostAttempts) {
        return failure.status();
      }
      if (failure.after() == AfterFailure::kLeave && ++connections == kMostConnections) {
        return failure.status();
      }
      if (failure.after() == AfterFailure::kRepeatOnce && ++waits > 1) return failure.status();
      if (clock_->SteadyNow() >= deadline) return failure.status();
      if (failure.after() == AfterFailure::kRepeat) Pause(PauseBefore(attempts));
    } catch (const StoreFailure& failure) {
      return failure.status();
    } catch (const std::exception& error) {
      return InternalError(std::string("MySQL store: ") + error.what());
    }
  }
}

absl::Status MysqlLeaseStore::Write(SteadyTime deadline, const Work& work) {
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  absl::Status in_doubt;
  const absl::Status status = Repeatedly(deadline, [&] {
    ConnectionPool::Lease connection = writers_->Take(deadline);
    connection->Begin(Connection::Kind::kWrite);
    MysqlStatements statements(&*connection, Connection::Kind::kWrite);
    BufferedLeaseRows rows(&statements);
    work.prepare(rows);
    work.run(rows, statements, ContextAt(connection->ReadClock()));
    rows.Flush();
    try {
      connection->Commit();
    } catch (const DatabaseFailure& failure) {
      if (failure.after() != AfterFailure::kLeave) throw;
      // It may have happened; callers repeat what is safe to repeat.
      in_doubt = failure.status();
    }
  });
  return status.ok() ? in_doubt : status;
}

absl::Status MysqlLeaseStore::Read(const Work& work) {
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  return Repeatedly(SteadyTime::max(), [&] {
    ConnectionPool::Lease connection = readers_->Take(SteadyTime::max());
    connection->Begin(Connection::Kind::kRead);
    MysqlStatements statements(&*connection, Connection::Kind::kRead);
    BufferedLeaseRows rows(&statements);
    rows.ReadOnly();
    work.run(rows, statements, ContextAt(connection->ReadClock()));
    connection->Commit();
  });
}

template <typename Result, typename Spec, typename Prepare, typename Decide>
std::vector<Result> MysqlLeaseStore::WriteBatch(std::span<const Spec> specs, SteadyTime deadline,
                                                Prepare prepare, Decide decide) {
  std::vector<Result> results;
  if (specs.empty()) return results;
  results.reserve(specs.size());
  const absl::Status status =
      Write(deadline, {prepare, [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
                         results.clear();
                         for (const Spec& spec : specs) {
                           results.push_back(decide(rows, spec, context));
                         }
                       }});
  if (!status.ok()) results.assign(specs.size(), Result(status));
  return results;
}

template <typename Result, typename Decide>
Result MysqlLeaseStore::WriteOne(const std::string& name_space, bool may_create, Decide decide) {
  Result result = InternalError("no answer");
  const absl::Status status =
      Write(SteadyTime::max(),
            {[&](BufferedLeaseRows& rows) { rows.PrepareNamespace(name_space, may_create); },
             [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
               result = decide(rows, context);
             }});
  return status.ok() ? std::move(result) : Result(status);
}

template <typename Result, typename Decide>
Result MysqlLeaseStore::ReadOne(Decide decide) {
  Result result = InternalError("no answer");
  const absl::Status status =
      Read({{}, [&](LeaseRows& rows, MysqlStatements& statements, const RuleContext& context) {
              result = decide(rows, statements, context);
            }});
  return status.ok() ? std::move(result) : Result(status);
}

// ---- instances ----

BatchResult<Lease> MysqlLeaseStore::Claim(std::span<const ClaimSpec> specs,
                                          const CallOptions& options) {
  return WriteBatch<absl::StatusOr<Lease>>(
      specs, options.deadline, [&](BufferedLeaseRows& rows) { rows.PrepareClaims(specs); },
      ClaimLease);
}

BatchResult<Lease> MysqlLeaseStore::Renew(std::span<const RenewSpec> specs,
                                          const CallOptions& options) {
  return WriteBatch<absl::StatusOr<Lease>>(specs, options.deadline, ForRenewals(specs), RenewLease);
}

std::vector<absl::Status> MysqlLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                   const CallOptions& options) {
  return WriteBatch<absl::Status>(
      specs, options.deadline,
      [&](BufferedLeaseRows& rows) { rows.PrepareGrants(GrantsOf(specs)); }, ReleaseLease);
}

BatchResult<WatermarkReading> MysqlLeaseStore::RaiseWatermark(std::span<const RaiseSpec> specs,
                                                              const CallOptions& options) {
  return WriteBatch<absl::StatusOr<WatermarkReading>>(specs, options.deadline, ForRenewals(specs),
                                                      RaiseLeaseWatermark);
}

// ---- reads ----

absl::StatusOr<WatermarkReading> MysqlLeaseStore::GetWatermark(const std::string& name_space,
                                                               uint32_t machine_id) {
  return ReadOne<absl::StatusOr<WatermarkReading>>(
      [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
        return ReadWatermark(rows, name_space, machine_id, context);
      });
}

absl::StatusOr<std::vector<NamespaceRow>> MysqlLeaseStore::ListNamespaces(const std::string& after,
                                                                          int limit) {
  return ReadOne<absl::StatusOr<std::vector<NamespaceRow>>>(
      [&](LeaseRows&, MysqlStatements& statements, const RuleContext&) {
        return statements.ListNamespaces(after, limit);
      });
}

absl::StatusOr<NamespaceDetail> MysqlLeaseStore::GetNamespace(const std::string& name) {
  return ReadOne<absl::StatusOr<NamespaceDetail>>(
      [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
        return DescribeNamespace(rows, name, context);
      });
}

absl::StatusOr<std::vector<LeaseDetail>> MysqlLeaseStore::ListLeases(const std::string& name_space,
                                                                     const LeaseFilter& filter,
                                                                     uint32_t from, int limit) {
  return ReadOne<absl::StatusOr<std::vector<LeaseDetail>>>(
      [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
        return storage::ListLeases(rows, name_space, filter, from, limit, context);
      });
}

absl::StatusOr<LeaseHistory> MysqlLeaseStore::GetLease(const std::string& name_space,
                                                       uint32_t machine_id) {
  return ReadOne<absl::StatusOr<LeaseHistory>>(
      [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
        return DescribeLease(rows, name_space, machine_id, context);
      });
}

absl::StatusOr<std::vector<GrantRow>> MysqlLeaseStore::FindOwner(const std::string& name_space,
                                                                 uint32_t machine_id,
                                                                 ClientTime timestamp) {
  return ReadOne<absl::StatusOr<std::vector<GrantRow>>>(
      [&](LeaseRows& rows, MysqlStatements&, const RuleContext&) {
        return storage::FindOwner(rows, name_space, machine_id, timestamp);
      });
}

absl::StatusOr<std::vector<AuditRow>> MysqlLeaseStore::ListAudit(const std::string& name_space,
                                                                 int limit) {
  return ReadOne<absl::StatusOr<std::vector<AuditRow>>>(
      [&](LeaseRows&, MysqlStatements& statements, const RuleContext&) {
        return statements.Audit(name_space, limit);
      });
}

// ---- operators ----

absl::StatusOr<NamespaceRow> MysqlLeaseStore::UpdateNamespace(const NamespaceUpdate& update,
                                                              const AdminContext& admin) {
  return WriteOne<absl::StatusOr<NamespaceRow>>(
      update.name, update.allow_missing, [&](LeaseRows& rows, const RuleContext& context) {
        return storage::UpdateNamespace(rows, update, admin, context);
      });
}

absl::Status MysqlLeaseStore::DeleteNamespace(const std::string& name, const AdminContext& admin) {
  return WriteOne<absl::Status>(name, false, [&](LeaseRows& rows, const RuleContext& context) {
    return storage::DeleteNamespace(rows, name, admin, context);
  });
}

absl::StatusOr<ClientTime> MysqlLeaseStore::ForceRelease(const ForceReleaseSpec& spec,
                                                         const AdminContext& admin) {
  return WriteOne<absl::StatusOr<ClientTime>>(
      spec.name_space, false, [&](LeaseRows& rows, const RuleContext& context) {
        return storage::ForceRelease(rows, spec, admin, context);
      });
}

absl::Status MysqlLeaseStore::ReserveIds(const std::string& name_space,
                                         std::span<const uint32_t> ids, const AdminContext& admin) {
  return WriteOne<absl::Status>(name_space, false,
                                [&](LeaseRows& rows, const RuleContext& context) {
                                  return storage::ReserveIds(rows, name_space, ids, admin, context);
                                });
}

absl::Status MysqlLeaseStore::UnreserveIds(const std::string& name_space,
                                           std::span<const uint32_t> ids,
                                           std::optional<ClientTime> floor,
                                           const AdminContext& admin) {
  return WriteOne<absl::Status>(
      name_space, false, [&](LeaseRows& rows, const RuleContext& context) {
        return storage::UnreserveIds(rows, name_space, ids, floor, admin, context);
      });
}

absl::StatusOr<FenceSummary> MysqlLeaseStore::Fence(Millis ahead, const AdminContext& admin) {
  absl::StatusOr<FenceSummary> result = InternalError("no answer");
  // It locks namespaces as it comes to them.
  const absl::Status status =
      Write(SteadyTime::max(), {[](BufferedLeaseRows&) {},
                                [&](LeaseRows& rows, MysqlStatements&, const RuleContext& context) {
                                  result = storage::Fence(rows, ahead, admin, context);
                                }});
  return status.ok() ? std::move(result) : absl::StatusOr<FenceSummary>(status);
}

// ---- the store ----

absl::Status MysqlLeaseStore::Migrate(MigrateMode mode) {
  return Repeatedly(SteadyTime::max(), [&] {
    ConnectionPool::Lease connection = writers_->Take(SteadyTime::max());
    const mysql::SchemaState state = mysql::MigrateSchema(*connection, mode);
    const std::lock_guard lock(schema_mutex_);
    store_id_ = state.store_id;
    schema_version_ = state.version;
  });
}

absl::StatusOr<StoreTime> MysqlLeaseStore::Ping() {
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  StoreTime now;
  const absl::Status status = Repeatedly(SteadyTime::max(), [&] {
    ConnectionPool::Lease connection = readers_->Take(SteadyTime::max());
    mysql::Rows rows = connection->Query("SELECT version FROM snowlease_schema");
    while (rows.Next()) continue;
    now = ContextAt(connection->ReadClock()).now;
  });
  return status.ok() ? absl::StatusOr<StoreTime>(now) : status;
}

Capabilities MysqlLeaseStore::GetCapabilities() const {
  return {.backend = "mysql",
          .clock_source = "database",
          .durable = true,
          .transactional = true,
          .max_machine_bits = kMaxMachineBits,
          .connections = mysql_.connections};
}

std::string MysqlLeaseStore::StoreId() const {
  const std::lock_guard lock(schema_mutex_);
  return store_id_;
}

int MysqlLeaseStore::SchemaVersion() const { return schema_version_; }

}  // namespace snowlease::storage
