#include "storage/postgres/postgres_lease_store.h"

#include <algorithm>

#include "storage/admin_operations.h"
#include "storage/errors.h"
#include "storage/fence.h"
#include "storage/lease_operations.h"
#include "storage/postgres/postgres_bulk_statements.h"
#include "storage/postgres/postgres_errors.h"
#include "storage/postgres/postgres_url.h"
#include "storage/postgres/renewals.h"
#include "storage/postgres/schema/schema.h"
#include "storage/postgres/session_pool.h"
#include "storage/sql/buffered_lease_rows.h"

namespace snowlease::storage {
namespace {

// Not now(), which is when the transaction began and waited for its locks.
constexpr char kDatabaseClock[] = "floor(date_part('epoch', clock_timestamp()) * 1000)::bigint";

constexpr int kMostConflicts = 10;
constexpr int kMostConnections = 2;
constexpr Millis kMigrationTimeout{60'000};

std::vector<GrantKey> GrantsOf(std::span<const ReleaseSpec> specs) {
  std::vector<GrantKey> grants;
  for (const ReleaseSpec& spec : specs) grants.push_back(spec.grant);
  return grants;
}

}  // namespace

PostgresLeaseStore::PostgresLeaseStore(PostgresUrl url, std::string store_clock,
                                       StoreOptions options, Clock* clock)
    : url_(std::make_unique<PostgresUrl>(std::move(url))),
      store_clock_(std::move(store_clock)),
      options_(options),
      clock_(clock),
      writers_(std::make_unique<SessionPool>(url_->libpq_url, url_->where, url_->connections - 1,
                                             clock)),
      readers_(std::make_unique<SessionPool>(url_->libpq_url, url_->where, 1, clock)) {}

PostgresLeaseStore::~PostgresLeaseStore() = default;

absl::StatusOr<std::unique_ptr<PostgresLeaseStore>> PostgresLeaseStore::Open(
    const PostgresOptions& postgres, const StoreOptions& options, Clock* clock) {
  auto url = ParsePostgresUrl(postgres.url);
  if (!url.ok()) return url.status();
  return std::unique_ptr<PostgresLeaseStore>(new PostgresLeaseStore(
      *std::move(url), postgres.store_clock.empty() ? kDatabaseClock : postgres.store_clock,
      options, clock));
}

absl::Status PostgresLeaseStore::CheckReady() const {
  if (schema_version_ > 0) return absl::OkStatus();
  return StoreUnavailableError("the schema of " + url_->where +
                               " has not been found good: run `snowlease-server migrate`, or "
                               "start with --store-migrate=auto");
}

SteadyTime PostgresLeaseStore::DeadlineOf(SteadyTime deadline) const {
  return std::min(deadline, clock_->SteadyNow() + url_->timeout);
}

Millis PostgresLeaseStore::TimeLeft(SteadyTime deadline) const {
  const auto left = std::chrono::duration_cast<Millis>(deadline - clock_->SteadyNow());
  // 0 would be no limit.
  return std::clamp(left, Millis(1), url_->timeout);
}

absl::Status PostgresLeaseStore::OnSession(SessionPool& pool, SteadyTime deadline,
                                           const SessionWork& work) {
  int conflicts = 0;
  int lost = 0;
  while (true) {
    if (clock_->SteadyNow() >= deadline) {
      return StoreTimeoutError("the deadline passed before " + url_->where + " answered");
    }
    try {
      const SessionPool::Handle session = pool.Take(deadline);
      work(*session.get(), TimeLeft(deadline));
      return absl::OkStatus();
    } catch (const PostgresFailure& failure) {
      const bool is_lost = failure.kind() == FailureKind::kConnection;
      if (is_lost || failure.kind() == FailureKind::kInDoubt) pool.Forget();
      const bool again = (is_lost && ++lost < kMostConnections) ||
                         (failure.kind() == FailureKind::kRepeat && ++conflicts < kMostConflicts);
      if (!again) return failure.status();
    } catch (const StoreFailure& failure) {
      return failure.status();
    } catch (const std::exception& error) {
      return InternalError(url_->where + ": " + error.what());
    }
  }
}

absl::Status PostgresLeaseStore::Write(SteadyTime deadline, const Prepare& prepare,
                                       const Work& work) {
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  return OnSession(*writers_, DeadlineOf(deadline), [&](Session& session, Millis timeout) {
    SessionTransaction transaction(&session, SessionTransaction::Kind::kWrite, timeout);
    PostgresBulkStatements statements(&session, names_.get(), RowLock::kWait);
    BufferedLeaseRows rows(&statements);
    prepare(rows);
    work(rows, {statements.Clock(), clock_->Now(), options_});
    rows.Flush();
    transaction.Commit();
  });
}

absl::Status PostgresLeaseStore::Read(const ReadWork& work) {
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  return OnSession(*readers_, DeadlineOf(SteadyTime::max()), [&](Session& session, Millis timeout) {
    const SessionTransaction transaction(&session, SessionTransaction::Kind::kRead, timeout);
    PostgresBulkStatements statements(&session, names_.get(), RowLock::kNone);
    BufferedLeaseRows rows(&statements);
    rows.ReadOnly();
    work(statements, rows, {statements.Clock(), clock_->Now(), options_});
  });
}

template <typename Result, typename Spec, typename Decide>
std::vector<Result> PostgresLeaseStore::WriteBatch(std::span<const Spec> specs, SteadyTime deadline,
                                                   const Prepare& prepare, Decide decide) {
  std::vector<Result> results;
  if (specs.empty()) return results;
  const absl::Status status =
      Write(deadline, prepare, [&](LeaseRows& rows, const RuleContext& context) {
        results.clear();
        for (const Spec& spec : specs) results.push_back(decide(rows, spec, context));
      });
  if (!status.ok()) results.assign(specs.size(), Result(status));
  return results;
}

template <typename Result, typename Spec, typename Statement>
std::vector<Result> PostgresLeaseStore::RenewBatch(std::span<const Spec> specs, SteadyTime deadline,
                                                   Statement statement) {
  std::vector<Result> results;
  if (absl::Status ready = CheckReady(); !ready.ok()) {
    results.assign(specs.size(), Result(ready));
    return results;
  }
  for (size_t at = 0; at < specs.size(); at += kMostRowsPerStatement) {
    const auto part = specs.subspan(at, std::min(kMostRowsPerStatement, specs.size() - at));
    std::vector<Result> answers;
    const absl::Status status =
        OnSession(*writers_, DeadlineOf(deadline), [&](Session& session, Millis timeout) {
          answers = statement(
              RenewalContext{&session, names_.get(), clock_->Now(), options_, timeout}, part);
        });
    if (!status.ok()) answers.assign(part.size(), Result(status));
    std::move(answers.begin(), answers.end(), std::back_inserter(results));
  }
  return results;
}

template <typename Result, typename Decide>
Result PostgresLeaseStore::WriteOne(const Prepare& prepare, Decide decide) {
  Result result = InternalError("no answer");
  const absl::Status status =
      Write(SteadyTime::max(), prepare,
            [&](LeaseRows& rows, const RuleContext& context) { result = decide(rows, context); });
  return status.ok() ? std::move(result) : Result(status);
}

template <typename T, typename Decide>
absl::StatusOr<T> PostgresLeaseStore::ReadOne(Decide decide) {
  absl::StatusOr<T> result = InternalError("no answer");
  const absl::Status status =
      Read([&](PostgresBulkStatements& statements, LeaseRows& rows, const RuleContext& context) {
        result = decide(statements, rows, context);
      });
  return status.ok() ? std::move(result) : absl::StatusOr<T>(status);
}

BatchResult<Lease> PostgresLeaseStore::Claim(std::span<const ClaimSpec> specs,
                                             const CallOptions& options) {
  return WriteBatch<absl::StatusOr<Lease>>(
      specs, options.deadline, [&](BufferedLeaseRows& rows) { rows.PrepareClaims(specs); },
      ClaimLease);
}

BatchResult<Lease> PostgresLeaseStore::Renew(std::span<const RenewSpec> specs,
                                             const CallOptions& options) {
  return RenewBatch<absl::StatusOr<Lease>>(specs, options.deadline, RenewLeases);
}

std::vector<absl::Status> PostgresLeaseStore::Release(std::span<const ReleaseSpec> specs,
                                                      const CallOptions& options) {
  return WriteBatch<absl::Status>(
      specs, options.deadline,
      [&](BufferedLeaseRows& rows) { rows.PrepareGrants(GrantsOf(specs)); }, ReleaseLease);
}

BatchResult<WatermarkReading> PostgresLeaseStore::RaiseWatermark(std::span<const RaiseSpec> specs,
                                                                 const CallOptions& options) {
  return RenewBatch<absl::StatusOr<WatermarkReading>>(specs, options.deadline, RaiseWatermarks);
}

absl::StatusOr<WatermarkReading> PostgresLeaseStore::GetWatermark(const std::string& name_space,
                                                                  uint32_t machine_id) {
  return ReadOne<WatermarkReading>([&](auto&, LeaseRows& rows, const RuleContext& context) {
    return ReadWatermark(rows, name_space, machine_id, context);
  });
}

absl::StatusOr<std::vector<NamespaceRow>> PostgresLeaseStore::ListNamespaces(
    const std::string& after, int limit) {
  return ReadOne<std::vector<NamespaceRow>>([&](PostgresBulkStatements& statements, auto&, auto&) {
    return statements.ListNamespaces(after, limit);
  });
}

absl::StatusOr<NamespaceDetail> PostgresLeaseStore::GetNamespace(const std::string& name) {
  return ReadOne<NamespaceDetail>([&](auto&, LeaseRows& rows, const RuleContext& context) {
    return DescribeNamespace(rows, name, context);
  });
}

absl::StatusOr<std::vector<LeaseDetail>> PostgresLeaseStore::ListLeases(
    const std::string& name_space, const LeaseFilter& filter, uint32_t from, int limit) {
  return ReadOne<std::vector<LeaseDetail>>([&](auto&, LeaseRows& rows, const RuleContext& context) {
    return storage::ListLeases(rows, name_space, filter, from, limit, context);
  });
}

absl::StatusOr<LeaseHistory> PostgresLeaseStore::GetLease(const std::string& name_space,
                                                          uint32_t machine_id) {
  return ReadOne<LeaseHistory>([&](auto&, LeaseRows& rows, const RuleContext& context) {
    return DescribeLease(rows, name_space, machine_id, context);
  });
}

absl::StatusOr<std::vector<GrantRow>> PostgresLeaseStore::FindOwner(const std::string& name_space,
                                                                    uint32_t machine_id,
                                                                    ClientTime timestamp) {
  return ReadOne<std::vector<GrantRow>>([&](auto&, LeaseRows& rows, auto&) {
    return storage::FindOwner(rows, name_space, machine_id, timestamp);
  });
}

absl::StatusOr<std::vector<AuditRow>> PostgresLeaseStore::ListAudit(const std::string& name_space,
                                                                    int limit) {
  return ReadOne<std::vector<AuditRow>>([&](PostgresBulkStatements& statements, auto&, auto&) {
    return statements.Audit(name_space, limit);
  });
}

absl::StatusOr<NamespaceRow> PostgresLeaseStore::UpdateNamespace(const NamespaceUpdate& update,
                                                                 const AdminContext& admin) {
  return WriteOne<absl::StatusOr<NamespaceRow>>(
      [&](BufferedLeaseRows& rows) { rows.PrepareNamespace(update.name, update.allow_missing); },
      [&](LeaseRows& rows, const RuleContext& context) {
        return storage::UpdateNamespace(rows, update, admin, context);
      });
}

absl::Status PostgresLeaseStore::DeleteNamespace(const std::string& name,
                                                 const AdminContext& admin) {
  return WriteOne<absl::Status>(
      [&](BufferedLeaseRows& rows) { rows.PrepareNamespace(name, false); },
      [&](LeaseRows& rows, const RuleContext& context) {
        return storage::DeleteNamespace(rows, name, admin, context);
      });
}

absl::StatusOr<ClientTime> PostgresLeaseStore::ForceRelease(const ForceReleaseSpec& spec,
                                                            const AdminContext& admin) {
  const GrantKey grants[] = {{spec.name_space, spec.machine_id, "", spec.expected_token}};
  return WriteOne<absl::StatusOr<ClientTime>>(
      [&](BufferedLeaseRows& rows) { rows.PrepareGrants(grants); },
      [&](LeaseRows& rows, const RuleContext& context) {
        return storage::ForceRelease(rows, spec, admin, context);
      });
}

absl::Status PostgresLeaseStore::ReserveIds(const std::string& name_space,
                                            std::span<const uint32_t> ids,
                                            const AdminContext& admin) {
  return WriteOne<absl::Status>(
      [&](BufferedLeaseRows& rows) { rows.PrepareNamespace(name_space, false); },
      [&](LeaseRows& rows, const RuleContext& context) {
        return storage::ReserveIds(rows, name_space, ids, admin, context);
      });
}

absl::Status PostgresLeaseStore::UnreserveIds(const std::string& name_space,
                                              std::span<const uint32_t> ids,
                                              std::optional<ClientTime> floor,
                                              const AdminContext& admin) {
  return WriteOne<absl::Status>(
      [&](BufferedLeaseRows& rows) { rows.PrepareNamespace(name_space, false); },
      [&](LeaseRows& rows, const RuleContext& context) {
        return storage::UnreserveIds(rows, name_space, ids, floor, admin, context);
      });
}

absl::StatusOr<FenceSummary> PostgresLeaseStore::Fence(Millis ahead, const AdminContext& admin) {
  // It locks namespaces as it comes to them.
  return WriteOne<absl::StatusOr<FenceSummary>>([](BufferedLeaseRows&) {},
                                                [&](LeaseRows& rows, const RuleContext& context) {
                                                  return storage::Fence(rows, ahead, admin,
                                                                        context);
                                                });
}

absl::Status PostgresLeaseStore::Migrate(MigrateMode mode) {
  const SteadyTime deadline = clock_->SteadyNow() + kMigrationTimeout;
  return OnSession(*writers_, deadline, [&](Session& session, Millis) {
    const PostgresSchemaState state =
        MigratePostgresSchema(session, url_->schema, mode, kMigrationTimeout);
    const pqxx::result durable = session.Run(
        "SELECT current_setting('fsync')::boolean AND "
        "current_setting('synchronous_commit') NOT IN ('off', 'false')");
    const std::lock_guard lock(schema_mutex_);
    durable_ = std::string_view(durable.front()[0].c_str()) == "t";
    store_id_ = state.store_id;
    if (names_ == nullptr) {
      names_ = std::make_unique<PostgresNames>(session.QuotedName(url_->schema), store_clock_);
    }
    schema_version_ = state.version;
  });
}

absl::StatusOr<StoreTime> PostgresLeaseStore::Ping() {
  if (absl::Status ready = CheckReady(); !ready.ok()) return ready;
  StoreTime now;
  const absl::Status status =
      OnSession(*readers_, DeadlineOf(SteadyTime::max()), [&](Session& session, Millis) {
        // Also finds a schema that was dropped, or a server that became a standby.
        const pqxx::result result = session.Run(
            "SELECT " + names_->clock +
            ", pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean FROM " +
            names_->schema);
        if (result.empty()) {
          throw StoreFailure(StoreUnavailableError("table snowlease_schema in " + url_->where +
                                                   " has no row: restore it from a backup"));
        }
        const pqxx::row row = result.front();
        RowReader reader(row);
        now = reader.TakeTime<StoreTime>();
        if (reader.TakeBool()) throw FailureOf("25006", "it is a standby", url_->where);
      });
  if (!status.ok()) return status;
  return now;
}

Capabilities PostgresLeaseStore::GetCapabilities() const {
  return {.backend = "postgres",
          .clock_source = "database",
          .durable = durable_,
          .transactional = true,
          .max_machine_bits = kMaxMachineBits,
          .connections = url_->connections - 1};
}

std::string PostgresLeaseStore::StoreId() const {
  const std::lock_guard lock(schema_mutex_);
  return store_id_;
}

int PostgresLeaseStore::SchemaVersion() const { return schema_version_; }

}  // namespace snowlease::storage
