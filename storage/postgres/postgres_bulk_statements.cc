#include "storage/postgres/postgres_bulk_statements.h"

#include <algorithm>
#include <limits>

#include "storage/errors.h"
#include "storage/postgres/sql_arrays.h"
#include "storage/sql/metadata_codec.h"

namespace snowlease::storage {
namespace {

constexpr char kNamespaceColumns[] =
    "namespace, machine_bits, next_machine_id, pinned_safe_guard_ms, allow_trust_clock, "
    "lease_cap, base_floor_ms, base_token, created_at_ms, deleted, free_count, held_count, "
    "kept_count, reserved_count";
constexpr char kLeaseValues[] =
    "namespace, machine_id, token, safe_guard_ms, window_ms, floor_ms, fence_ms, claimed_at_ms, "
    "ended_token, free_floor_ms, renewed_at_ms, renewed_before_ms, watermark_ms, window_end_ms, "
    "used, stable, state, source, end_cause, incarnation_id, instance_id";
constexpr char kGrantColumns[] =
    "token, instance_id, incarnation_id, source, granted_at_ms, floor_ms, metadata, ended_at_ms, "
    "window_end_ms, end_cause, ended_unclean";

// In the statement of ExpirableLeases.
static_assert(static_cast<int>(LeaseState::kHeld) == 2);

// "a = excluded.a, b = excluded.b" for the columns of an upsert.
std::string SetExcluded(std::string_view columns) {
  std::string out;
  while (!columns.empty()) {
    const size_t end = std::min(columns.find(','), columns.size());
    const std::string name(columns.substr(0, end));
    out += (out.empty() ? "" : ", ") + name + " = excluded." + name;
    columns.remove_prefix(std::min(end + 2, columns.size()));
  }
  return out;
}

// Calls `work` with parts of the span that one statement takes.
template <typename T, typename F>
void InParts(std::span<const T> items, F work) {
  for (size_t at = 0; at < items.size(); at += kMostRowsPerStatement) {
    work(items.subspan(at, std::min(kMostRowsPerStatement, items.size() - at)));
  }
}

NamespaceRow TakeNamespace(RowReader& reader) {
  NamespaceRow row;
  row.name = reader.TakeText();
  row.machine_bits = static_cast<int>(reader.TakeInt());
  row.next_machine_id = static_cast<uint32_t>(reader.TakeInt());
  row.policy.pinned_safe_guard = reader.TakeOptional([&] { return reader.TakeMillis(); });
  row.policy.allow_trust_clock = reader.TakeBool();
  row.policy.lease_cap =
      reader.TakeOptional([&] { return static_cast<uint64_t>(reader.TakeInt()); });
  row.base_floor = reader.TakeTime<ClientTime>();
  row.base_token = static_cast<uint64_t>(reader.TakeInt());
  row.created_at = reader.TakeTime<StoreTime>();
  row.deleted = reader.TakeBool();
  row.counts.free = static_cast<uint64_t>(reader.TakeInt());
  row.counts.held = static_cast<uint64_t>(reader.TakeInt());
  row.counts.kept = static_cast<uint64_t>(reader.TakeInt());
  row.counts.reserved = static_cast<uint64_t>(reader.TakeInt());
  return row;
}

GrantRow TakeGrant(RowReader& reader, const std::string& where) {
  GrantRow grant;
  grant.token = static_cast<uint64_t>(reader.TakeInt());
  grant.instance_id = reader.TakeText();
  grant.incarnation_id = reader.TakeId();
  grant.source = static_cast<LeaseSource>(reader.TakeInt());
  grant.granted_at = reader.TakeTime<StoreTime>();
  grant.floor = reader.TakeTime<ClientTime>();
  auto metadata = DecodeMetadata(reader.TakeBytes());
  if (!metadata.has_value()) {
    throw StoreFailure(InternalError("column metadata of table snowlease_grant in " + where +
                                     " is damaged; restore the database from a backup"));
  }
  grant.metadata = *std::move(metadata);
  grant.ended_at = reader.TakeOptional([&] { return reader.TakeTime<StoreTime>(); });
  grant.window_end = reader.TakeOptional([&] { return reader.TakeTime<ClientTime>(); });
  grant.end_cause = static_cast<EndCause>(reader.TakeInt());
  grant.ended_unclean = reader.TakeBool();
  return grant;
}

template <typename Take>
auto RowsOf(const pqxx::result& result, Take take) {
  std::vector<decltype(take(std::declval<RowReader&>()))> rows;
  rows.reserve(result.size());
  for (const pqxx::row& row : result) {
    RowReader reader(row);
    rows.push_back(take(reader));
  }
  return rows;
}

std::string LockClause(RowLock lock) {
  switch (lock) {
    case RowLock::kNone:
      return "";
    case RowLock::kWait:
      return " FOR UPDATE OF l";
    case RowLock::kSkip:
      return " FOR UPDATE OF l SKIP LOCKED";
  }
  return "";
}

template <typename T>
void Join(std::vector<T>& all, std::vector<T> part) {
  std::move(part.begin(), part.end(), std::back_inserter(all));
}

}  // namespace

const char kPostgresLeaseColumns[] =
    "l.namespace, l.machine_id, l.token, l.safe_guard_ms, l.window_ms, l.floor_ms, l.fence_ms, "
    "l.claimed_at_ms, l.ended_token, l.free_floor_ms, l.renewed_at_ms, l.watermark_ms, "
    "l.window_end_ms, l.used, l.stable, l.state, l.source, l.end_cause, l.incarnation_id, "
    "l.instance_id";

LeaseRow TakeLease(RowReader& reader) {
  LeaseRow row;
  row.name_space = reader.TakeText();
  row.machine_id = static_cast<uint32_t>(reader.TakeInt());
  row.token = static_cast<uint64_t>(reader.TakeInt());
  row.safe_guard = reader.TakeMillis();
  row.window = reader.TakeMillis();
  row.floor = reader.TakeTime<ClientTime>();
  row.fence = reader.TakeTime<ClientTime>();
  row.claimed_at = reader.TakeTime<StoreTime>();
  row.ended_token = static_cast<uint64_t>(reader.TakeInt());
  row.free_floor = reader.TakeOptional([&] { return reader.TakeTime<ClientTime>(); });
  row.renewed_at = reader.TakeTime<StoreTime>();
  row.watermark = reader.TakeTime<ClientTime>();
  row.window_end = reader.TakeOptional([&] { return reader.TakeTime<ClientTime>(); });
  row.used = reader.TakeBool();
  row.stable = reader.TakeBool();
  row.state = static_cast<LeaseState>(reader.TakeInt());
  row.source = static_cast<LeaseSource>(reader.TakeInt());
  row.end_cause = static_cast<EndCause>(reader.TakeInt());
  row.incarnation_id = reader.TakeId();
  row.instance_id = reader.TakeOptional([&] { return reader.TakeText(); });
  return row;
}

PostgresNames::PostgresNames(const std::string& quoted_schema, std::string clock_sql)
    : name_space(quoted_schema + ".snowlease_namespace"),
      lease(quoted_schema + ".snowlease_lease"),
      block(quoted_schema + ".snowlease_expiry_block"),
      grant(quoted_schema + ".snowlease_grant"),
      audit(quoted_schema + ".snowlease_audit"),
      schema(quoted_schema + ".snowlease_schema"),
      clock(std::move(clock_sql)) {}

StoreTime PostgresBulkStatements::Clock() {
  const pqxx::result result = session_->Run("SELECT " + names_->clock);
  const pqxx::row row = result.front();
  return RowReader(row).TakeTime<StoreTime>();
}

// ---- namespaces ----

std::vector<std::string> PostgresBulkStatements::MakeNamespaces(
    std::span<const std::string> names) {
  std::vector<std::string> made;
  InParts(names, [&](auto part) {
    SqlArrays arrays({"text[]"});
    for (const std::string& name : part) arrays.AddRow(name);
    const pqxx::result result = session_->Run(
        "INSERT INTO " + names_->name_space + " (" + kNamespaceColumns +
            ") SELECT k.namespace, 0, 0, NULL, FALSE, NULL, 0, 0, 0, TRUE, 0, 0, 0, 0 FROM " +
            arrays.Unnest() + " AS k (namespace) ORDER BY k.namespace COLLATE \"C\" " +
            "ON CONFLICT (namespace) DO NOTHING RETURNING namespace",
        arrays.Parameters());
    Join(made, RowsOf(result, [](RowReader& reader) { return reader.TakeText(); }));
  });
  return made;
}

void PostgresBulkStatements::DropNamespaces(std::span<const std::string> names) {
  InParts(names, [&](auto part) {
    SqlArrays arrays({"text[]"});
    for (const std::string& name : part) arrays.AddRow(name);
    session_->Queue("DELETE FROM " + names_->name_space + " WHERE namespace = ANY ($1::text[])",
                    arrays.Parameters());
  });
}

std::vector<NamespaceRow> PostgresBulkStatements::NamespacesWhere(
    std::span<const std::string> names, const std::string& lock) {
  std::vector<NamespaceRow> rows;
  InParts(names, [&](auto part) {
    SqlArrays arrays({"text[]"});
    for (const std::string& name : part) arrays.AddRow(name);
    const pqxx::result result =
        session_->Run(std::string("SELECT ") + kNamespaceColumns + " FROM " + names_->name_space +
                          " WHERE namespace = ANY ($1::text[]) ORDER BY namespace" + lock,
                      arrays.Parameters());
    Join(rows, RowsOf(result, TakeNamespace));
  });
  return rows;
}

std::vector<NamespaceRow> PostgresBulkStatements::LockNamespaces(
    std::span<const std::string> names) {
  return NamespacesWhere(names, " FOR UPDATE");
}

std::vector<NamespaceRow> PostgresBulkStatements::GetNamespaces(
    std::span<const std::string> names) {
  return NamespacesWhere(names, "");
}

void PostgresBulkStatements::PutNamespaces(std::span<const NamespaceRow> rows) {
  InParts(rows, [&](auto part) {
    SqlArrays arrays({"text[]", "integer[]", "bigint[]", "bigint[]", "boolean[]", "bigint[]",
                      "bigint[]", "bigint[]", "bigint[]", "boolean[]", "bigint[]", "bigint[]",
                      "bigint[]", "bigint[]"});
    for (const NamespaceRow& row : part) {
      arrays.AddRow(row.name, row.machine_bits, row.next_machine_id, row.policy.pinned_safe_guard,
                    row.policy.allow_trust_clock, row.policy.lease_cap, row.base_floor,
                    row.base_token, row.created_at, row.deleted, row.counts.free, row.counts.held,
                    row.counts.kept, row.counts.reserved);
    }
    session_->Queue("INSERT INTO " + names_->name_space + " (" + kNamespaceColumns +
                        ") SELECT * FROM " + arrays.Unnest() +
                        " ON CONFLICT (namespace) DO UPDATE SET " + SetExcluded(kNamespaceColumns),
                    arrays.Parameters());
  });
}

std::vector<NamespaceRow> PostgresBulkStatements::ListNamespaces(const std::string& after,
                                                                 int limit) {
  const pqxx::result result =
      session_->Run(std::string("SELECT ") + kNamespaceColumns + " FROM " + names_->name_space +
                        " WHERE namespace > $1 AND NOT deleted ORDER BY namespace LIMIT $2",
                    {after, std::to_string(limit)});
  return RowsOf(result, TakeNamespace);
}

std::vector<std::string> PostgresBulkStatements::NamespaceNames(const std::string& after,
                                                                int limit) {
  const pqxx::result result = session_->Run("SELECT namespace FROM " + names_->name_space +
                                                " WHERE namespace > $1 "
                                                "ORDER BY namespace LIMIT $2",
                                            {after, std::to_string(limit)});
  return RowsOf(result, [](RowReader& reader) { return reader.TakeText(); });
}

// ---- leases ----

std::vector<LeaseRow> PostgresBulkStatements::LeasesWhere(
    const std::string& rest, const std::vector<std::string>& parameters) {
  const pqxx::result result = session_->Run(
      std::string("SELECT ") + kPostgresLeaseColumns + " FROM " + names_->lease + " AS l " + rest,
      parameters);
  return RowsOf(result, TakeLease);
}

std::vector<LeaseRow> PostgresBulkStatements::Leases(std::span<const LeaseKey> keys, RowLock lock) {
  std::vector<LeaseRow> rows;
  InParts(keys, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]"});
    for (const LeaseKey& key : part) arrays.AddRow(key.name_space, key.machine_id);
    Join(rows, LeasesWhere("JOIN " + arrays.Unnest() +
                               " AS k (namespace, machine_id) ON l.namespace = k.namespace AND "
                               "l.machine_id = k.machine_id ORDER BY l.namespace, l.machine_id" +
                               LockClause(lock),
                           arrays.Parameters()));
  });
  return rows;
}

std::vector<LeaseRow> PostgresBulkStatements::LeasesOf(std::span<const InstanceKey> instances,
                                                       RowLock lock) {
  std::vector<LeaseRow> rows;
  InParts(instances, [&](auto part) {
    SqlArrays arrays({"text[]", "text[]"});
    for (const InstanceKey& key : part) arrays.AddRow(key.name_space, key.instance_id);
    Join(rows, LeasesWhere("JOIN " + arrays.Unnest() +
                               " AS k (namespace, instance_id) ON l.namespace = k.namespace AND "
                               "l.instance_id = k.instance_id WHERE l.instance_id IS NOT NULL "
                               "ORDER BY l.namespace, l.machine_id" +
                               LockClause(lock),
                           arrays.Parameters()));
  });
  return rows;
}

std::vector<LeaseRow> PostgresBulkStatements::FreeLeases(const std::string& name_space,
                                                         uint64_t id_limit,
                                                         const std::optional<FreePlace>& after,
                                                         int limit) {
  const FreePlace place = after.value_or(FreePlace{{std::numeric_limits<int64_t>::min()}, 0});
  return LeasesWhere(
      "WHERE l.namespace = $1 AND l.free_floor_ms IS NOT NULL AND l.machine_id < $2::bigint AND "
      "(l.free_floor_ms, l.machine_id) > ($3::bigint, $4::bigint) "
      "ORDER BY l.free_floor_ms, l.machine_id LIMIT $5",
      {name_space, std::to_string(id_limit), std::to_string(place.floor.ms),
       std::to_string(place.machine_id), std::to_string(limit)});
}

// An instance that moves within the batch would for a moment have two rows: the index of
// instances does not wait for the end of the statement.
void PostgresBulkStatements::ClearInstancesThatMove(std::span<const LeaseRow> rows) {
  InParts(rows, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]", "text[]"});
    for (const LeaseRow& row : part) {
      if (row.instance_id) arrays.AddRow(row.name_space, row.machine_id, *row.instance_id);
    }
    if (arrays.rows() == 0) return;
    session_->Queue(
        "UPDATE " + names_->lease + " AS l SET instance_id = NULL FROM " + arrays.Unnest() +
            " AS k (namespace, machine_id, instance_id) WHERE l.namespace = k.namespace "
            "AND l.instance_id = k.instance_id AND l.instance_id IS NOT NULL AND "
            "l.machine_id <> k.machine_id",
        arrays.Parameters());
  });
}

void PostgresBulkStatements::PutLeases(std::span<const LeaseRow> rows) {
  ClearInstancesThatMove(rows);
  static const std::string kUpsert = SetExcluded(kLeaseValues);
  InParts(rows, [&](auto part) {
    SqlArrays arrays(
        {"text[]",    "bigint[]",  "bigint[]",   "bigint[]",   "bigint[]",   "bigint[]", "bigint[]",
         "bigint[]",  "bigint[]",  "bigint[]",   "bigint[]",   "bigint[]",   "bigint[]", "bigint[]",
         "boolean[]", "boolean[]", "smallint[]", "smallint[]", "smallint[]", "bytea[]",  "text[]"});
    for (const LeaseRow& row : part) {
      arrays.AddRow(row.name_space, row.machine_id, row.token, row.safe_guard, row.window,
                    row.floor, row.fence, row.claimed_at, row.ended_token, row.free_floor,
                    row.renewed_at, row.renewed_at, row.watermark, row.window_end, row.used,
                    row.stable, row.state, row.source, row.end_cause, row.incarnation_id,
                    row.instance_id);
    }
    session_->Queue("INSERT INTO " + names_->lease + " (" + kLeaseValues + ") SELECT * FROM " +
                        arrays.Unnest() + " ON CONFLICT (namespace, machine_id) DO UPDATE SET " +
                        kUpsert,
                    arrays.Parameters());
  });
}

void PostgresBulkStatements::PutRenewals(std::span<const LeaseRow> rows) {
  InParts(rows, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]", "boolean[]", "bigint[]", "bigint[]", "bigint[]"});
    for (const LeaseRow& row : part) {
      arrays.AddRow(row.name_space, row.machine_id, row.used, row.window_end, row.watermark,
                    row.renewed_at);
    }
    session_->Queue("UPDATE " + names_->lease +
                        " AS l SET used = k.used, window_end_ms = k.window_end_ms, watermark_ms = "
                        "k.watermark_ms, renewed_at_ms = k.renewed_at_ms FROM " +
                        arrays.Unnest() +
                        " AS k (namespace, machine_id, used, window_end_ms, watermark_ms, "
                        "renewed_at_ms) WHERE l.namespace = k.namespace AND "
                        "l.machine_id = k.machine_id",
                    arrays.Parameters());
  });
}

std::vector<LeaseRow> PostgresBulkStatements::Scan(const std::string& name_space,
                                                   const LeaseFilter& filter, uint32_t from,
                                                   int limit) {
  std::string where = "WHERE l.namespace = $1 AND l.machine_id >= $2 AND starts_with(";
  where += "coalesce(l.instance_id, ''), $4) ";
  if (filter.state) where += "AND l.state = " + std::to_string(static_cast<int>(*filter.state));
  return LeasesWhere(
      where + " ORDER BY l.machine_id LIMIT $3" + LockClause(scan_),
      {name_space, std::to_string(from), std::to_string(limit), filter.instance_prefix});
}

void PostgresBulkStatements::DropLeases(const std::string& name_space) {
  for (const std::string& table : {names_->lease, names_->block, names_->grant}) {
    session_->Queue("DELETE FROM " + table + " WHERE namespace = $1", {name_space});
  }
}

// ---- expiry ----

std::vector<ExpiryBlock> PostgresBulkStatements::BlocksAfter(
    const std::string& name_space, const std::optional<ExpiryBlock>& after, int limit) {
  const int64_t bound = after ? after->bound.ms : std::numeric_limits<int64_t>::min();
  const int64_t block = after ? int64_t{after->block} : -1;
  const pqxx::result result = session_->Run(
      "SELECT block, bound_ms FROM " + names_->block +
          " WHERE namespace = $1 AND (bound_ms, block) > ($2::bigint, $3::bigint) "
          "ORDER BY bound_ms, block LIMIT $4",
      {name_space, std::to_string(bound), std::to_string(block), std::to_string(limit)});
  return RowsOf(result, [](RowReader& reader) {
    ExpiryBlock row;
    row.block = static_cast<uint32_t>(reader.TakeInt());
    row.bound = reader.TakeTime<StoreTime>();
    return row;
  });
}

std::optional<StoreTime> PostgresBulkStatements::LockBlock(const BlockKey& block) {
  const pqxx::result result = session_->Run(
      "SELECT bound_ms FROM " + names_->block + " WHERE namespace = $1 AND block = $2 FOR UPDATE",
      {block.name_space, std::to_string(block.block)});
  if (result.empty()) return std::nullopt;
  const pqxx::row row = result.front();
  return RowReader(row).TakeTime<StoreTime>();
}

std::vector<LeaseRow> PostgresBulkStatements::ExpirableLeases(const BlockKey& block) {
  const int64_t first = int64_t{block.block} * kExpiryBlockSize;
  return LeasesWhere(
      "WHERE l.namespace = $1 AND l.machine_id BETWEEN $2::bigint AND $3::bigint AND "
      "l.state = 2 AND l.safe_guard_ms > 0 AND NOT l.stable ORDER BY l.machine_id",
      {block.name_space, std::to_string(first), std::to_string(first + kExpiryBlockSize - 1)});
}

void PostgresBulkStatements::UpsertBounds(std::span<const BlockBound> bounds,
                                          const std::string& condition) {
  InParts(bounds, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]", "bigint[]"});
    for (const BlockBound& bound : part) {
      arrays.AddRow(bound.block.name_space, bound.block.block, bound.bound);
    }
    session_->Queue("INSERT INTO " + names_->block +
                        " AS b (namespace, block, bound_ms) SELECT * FROM " + arrays.Unnest() +
                        " ON CONFLICT (namespace, block) DO UPDATE SET bound_ms = "
                        "excluded.bound_ms WHERE " +
                        condition,
                    arrays.Parameters());
  });
}

void PostgresBulkStatements::PutBounds(std::span<const BlockBound> bounds) {
  UpsertBounds(bounds, "b.bound_ms <> excluded.bound_ms");
}

void PostgresBulkStatements::LowerBounds(std::span<const BlockBound> bounds) {
  UpsertBounds(bounds, "b.bound_ms > excluded.bound_ms");
}

void PostgresBulkStatements::DropBounds(std::span<const BlockKey> blocks) {
  InParts(blocks, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]"});
    for (const BlockKey& key : part) arrays.AddRow(key.name_space, key.block);
    session_->Queue("DELETE FROM " + names_->block + " AS b USING " + arrays.Unnest() +
                        " AS k (namespace, block) WHERE b.namespace = k.namespace AND "
                        "b.block = k.block",
                    arrays.Parameters());
  });
}

// ---- history ----

void PostgresBulkStatements::AddGrants(std::span<const NewGrant> grants, int keep) {
  InParts(grants, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]", "bigint[]", "text[]", "bytea[]", "smallint[]",
                      "bigint[]", "bigint[]", "bytea[]", "bigint[]", "bigint[]", "smallint[]",
                      "boolean[]"});
    for (const NewGrant& added : part) {
      const GrantRow& grant = added.grant;
      arrays.AddRow(added.lease.name_space, added.lease.machine_id, grant.token, grant.instance_id,
                    grant.incarnation_id, grant.source, grant.granted_at, grant.floor,
                    HexOf(EncodeMetadata(grant.metadata)), grant.ended_at, grant.window_end,
                    grant.end_cause, grant.ended_unclean);
    }
    session_->Queue("INSERT INTO " + names_->grant + " (namespace, machine_id, " + kGrantColumns +
                        ") SELECT * FROM " + arrays.Unnest(),
                    arrays.Parameters());
  });
  InParts(grants, [&](auto part) {
    SqlArrays arrays({"text[]", "bigint[]", "bigint[]"});
    for (const NewGrant& added : part) {
      if (added.grant.token <= static_cast<uint64_t>(keep)) continue;
      arrays.AddRow(added.lease.name_space, added.lease.machine_id,
                    added.grant.token - static_cast<uint64_t>(keep));
    }
    if (arrays.rows() == 0) return;
    session_->Queue("DELETE FROM " + names_->grant + " AS g USING " + arrays.Unnest() +
                        " AS k (namespace, machine_id, token) WHERE g.namespace = k.namespace AND "
                        "g.machine_id = k.machine_id AND g.token <= k.token AND "
                        "g.token > k.token - " +
                        std::to_string(kFenceTokens / 2),
                    arrays.Parameters());
  });
}

void PostgresBulkStatements::EndGrants(std::span<const GrantEnd> ends) {
  InParts(ends, [&](auto part) {
    SqlArrays arrays(
        {"text[]", "bigint[]", "bigint[]", "bigint[]", "bigint[]", "smallint[]", "boolean[]"});
    for (const GrantEnd& end : part) {
      arrays.AddRow(end.lease.name_space, end.lease.machine_id, end.token, end.ended_at,
                    end.window_end, end.cause, end.unclean);
    }
    session_->Queue(
        "UPDATE " + names_->grant +
            " AS g SET ended_at_ms = k.ended_at_ms, window_end_ms = k.window_end_ms, "
            "end_cause = k.end_cause, ended_unclean = k.ended_unclean FROM " +
            arrays.Unnest() +
            " AS k (namespace, machine_id, token, ended_at_ms, window_end_ms, end_cause, "
            "ended_unclean) WHERE g.namespace = k.namespace AND "
            "g.machine_id = k.machine_id AND g.token = k.token",
        arrays.Parameters());
  });
}

std::vector<GrantRow> PostgresBulkStatements::GrantsOf(const LeaseKey& lease) {
  const pqxx::result result =
      session_->Run(std::string("SELECT ") + kGrantColumns + " FROM " + names_->grant +
                        " WHERE namespace = $1 AND machine_id = $2 ORDER BY token DESC",
                    {lease.name_space, std::to_string(lease.machine_id)});
  return RowsOf(result, [&](RowReader& reader) { return TakeGrant(reader, session_->where()); });
}

void PostgresBulkStatements::AddAudit(std::span<const AuditRow> rows) {
  InParts(rows, [&](auto part) {
    SqlArrays arrays({"bigint[]", "text[]", "text[]", "text[]", "bigint[]", "text[]", "text[]"});
    for (const AuditRow& row : part) {
      arrays.AddRow(row.at, row.actor, row.action, row.name_space, row.machine_id, row.reason,
                    row.detail);
    }
    session_->Queue("INSERT INTO " + names_->audit +
                        " (at_ms, actor, action, namespace, machine_id, reason, detail) "
                        "SELECT * FROM " +
                        arrays.Unnest(),
                    arrays.Parameters());
  });
}

std::vector<AuditRow> PostgresBulkStatements::Audit(const std::string& name_space, int limit) {
  const pqxx::result result =
      session_->Run("SELECT at_ms, actor, action, namespace, machine_id, reason, detail FROM " +
                        names_->audit + " WHERE namespace = $1 ORDER BY id DESC LIMIT $2",
                    {name_space, std::to_string(limit)});
  return RowsOf(result, [](RowReader& reader) {
    AuditRow row;
    row.at = reader.TakeTime<StoreTime>();
    row.actor = reader.TakeText();
    row.action = reader.TakeText();
    row.name_space = reader.TakeText();
    row.machine_id = reader.TakeOptional([&] { return static_cast<uint32_t>(reader.TakeInt()); });
    row.reason = reader.TakeText();
    row.detail = reader.TakeText();
    return row;
  });
}

}  // namespace snowlease::storage
