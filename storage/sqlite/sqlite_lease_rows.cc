#include "storage/sqlite/sqlite_lease_rows.h"

#include <limits>

#include "storage/errors.h"
#include "storage/sql/metadata_codec.h"

namespace snowlease::storage {
namespace {

// The order of the columns here is the order in which the functions below take and
// bind them.
const std::string kNamespaceColumns =
    "namespace, machine_bits, next_machine_id, pinned_safe_guard_ms, allow_trust_clock, "
    "lease_cap, base_floor_ms, base_token, created_at_ms, deleted, free_count, held_count, "
    "kept_count, reserved_count";
const std::string kLeaseValues =
    "state, instance_id, incarnation_id, token, source, stable, safe_guard_ms, "
    "window_ms, floor_ms, used, window_end_ms, watermark_ms, fence_ms, claimed_at_ms, "
    "renewed_at_ms, free_floor_ms, ended_token, end_cause";
const std::string kLeaseColumns = kLeaseValues + ", machine_id";
const std::string kGrantColumns =
    "token, instance_id, incarnation_id, source, granted_at_ms, floor_ms, metadata, "
    "ended_at_ms, window_end_ms, end_cause, ended_unclean";
const std::string kAuditColumns = "at_ms, actor, action, namespace, machine_id, reason, detail";

// In the statement of ExpirableInBlock.
static_assert(static_cast<int>(LeaseState::kHeld) == 2);

const std::string kSelectLease = "SELECT " + kLeaseColumns + " FROM snowlease_lease ";
const std::string kSelectGrant = "SELECT " + kGrantColumns + " FROM snowlease_grant ";

NamespaceRow TakeNamespace(Query& query) {
  NamespaceRow row;
  row.name = query.TakeText();
  row.machine_bits = static_cast<int>(query.TakeInt());
  row.next_machine_id = static_cast<uint32_t>(query.TakeInt());
  row.policy.pinned_safe_guard = query.TakeOptional([&] { return query.TakeMillis(); });
  row.policy.allow_trust_clock = query.TakeBool();
  row.policy.lease_cap = query.TakeOptional([&] { return static_cast<uint64_t>(query.TakeInt()); });
  row.base_floor = query.TakeTime<ClientTime>();
  row.base_token = static_cast<uint64_t>(query.TakeInt());
  row.created_at = query.TakeTime<StoreTime>();
  row.deleted = query.TakeBool();
  row.counts.free = static_cast<uint64_t>(query.TakeInt());
  row.counts.held = static_cast<uint64_t>(query.TakeInt());
  row.counts.kept = static_cast<uint64_t>(query.TakeInt());
  row.counts.reserved = static_cast<uint64_t>(query.TakeInt());
  return row;
}

LeaseRow TakeLease(Query& query, const std::string& name_space) {
  LeaseRow row;
  row.name_space = name_space;
  row.state = static_cast<LeaseState>(query.TakeInt());
  row.instance_id = query.TakeOptional([&] { return query.TakeText(); });
  row.incarnation_id = query.TakeId();
  row.token = static_cast<uint64_t>(query.TakeInt());
  row.source = static_cast<LeaseSource>(query.TakeInt());
  row.stable = query.TakeBool();
  row.safe_guard = query.TakeMillis();
  row.window = query.TakeMillis();
  row.floor = query.TakeTime<ClientTime>();
  row.used = query.TakeBool();
  row.window_end = query.TakeOptional([&] { return query.TakeTime<ClientTime>(); });
  row.watermark = query.TakeTime<ClientTime>();
  row.fence = query.TakeTime<ClientTime>();
  row.claimed_at = query.TakeTime<StoreTime>();
  row.renewed_at = query.TakeTime<StoreTime>();
  row.free_floor = query.TakeOptional([&] { return query.TakeTime<ClientTime>(); });
  row.ended_token = static_cast<uint64_t>(query.TakeInt());
  row.end_cause = static_cast<EndCause>(query.TakeInt());
  row.machine_id = static_cast<uint32_t>(query.TakeInt());
  return row;
}

GrantRow TakeGrant(Query& query, const std::string& path) {
  GrantRow grant;
  grant.token = static_cast<uint64_t>(query.TakeInt());
  grant.instance_id = query.TakeText();
  grant.incarnation_id = query.TakeId();
  grant.source = static_cast<LeaseSource>(query.TakeInt());
  grant.granted_at = query.TakeTime<StoreTime>();
  grant.floor = query.TakeTime<ClientTime>();
  auto metadata = DecodeMetadata(query.TakeText());
  if (!metadata.has_value()) {
    throw StoreFailure(InternalError("column metadata of table snowlease_grant in " + path +
                                     " is damaged; restore the file from a backup"));
  }
  grant.metadata = *std::move(metadata);
  grant.ended_at = query.TakeOptional([&] { return query.TakeTime<StoreTime>(); });
  grant.window_end = query.TakeOptional([&] { return query.TakeTime<ClientTime>(); });
  grant.end_cause = static_cast<EndCause>(query.TakeInt());
  grant.ended_unclean = query.TakeBool();
  return grant;
}

AuditRow TakeAudit(Query& query) {
  AuditRow row;
  row.at = query.TakeTime<StoreTime>();
  row.actor = query.TakeText();
  row.action = query.TakeText();
  row.name_space = query.TakeText();
  row.machine_id = query.TakeOptional([&] { return static_cast<uint32_t>(query.TakeInt()); });
  row.reason = query.TakeText();
  row.detail = query.TakeText();
  return row;
}

std::vector<LeaseRow> TakeLeases(Query& query, const std::string& name_space) {
  std::vector<LeaseRow> rows;
  while (query.Next()) rows.push_back(TakeLease(query, name_space));
  return rows;
}

std::optional<LeaseRow> TakeOneLease(Query& query, const std::string& name_space) {
  if (!query.Next()) return std::nullopt;
  return TakeLease(query, name_space);
}

}  // namespace

SqliteLeaseRows::SqliteLeaseRows(Connection* c)
    : get_namespace_(
          c, "SELECT " + kNamespaceColumns + " FROM snowlease_namespace WHERE namespace = ?"),
      put_namespace_(c, "INSERT OR REPLACE INTO snowlease_namespace (" + kNamespaceColumns +
                            ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      list_namespaces_(c, "SELECT " + kNamespaceColumns +
                              " FROM snowlease_namespace WHERE namespace > ? AND deleted = 0 "
                              "ORDER BY namespace LIMIT ?"),
      all_namespaces_(c, "SELECT " + kNamespaceColumns +
                             " FROM snowlease_namespace WHERE namespace > ? "
                             "ORDER BY namespace LIMIT ?"),
      get_lease_(c, kSelectLease + "WHERE namespace = ? AND machine_id = ?"),
      find_instance_(c, kSelectLease + "WHERE namespace = ? AND instance_id = ?"),
      lowest_free_(c, kSelectLease +
                          "INDEXED BY snowlease_lease_free WHERE namespace = ? AND "
                          "free_floor_ms IS NOT NULL AND machine_id < ? "
                          "ORDER BY free_floor_ms, machine_id LIMIT 1"),
      insert_lease_(c, "INSERT INTO snowlease_lease (" + kLeaseValues +
                           ", namespace, machine_id) VALUES "
                           "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      update_lease_(c, "UPDATE snowlease_lease SET (" + kLeaseValues +
                           ") = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                           "WHERE namespace = ? AND machine_id = ?"),
      renew_lease_(c,
                   "UPDATE snowlease_lease SET used = ?, window_end_ms = ?, watermark_ms = ?, "
                   "renewed_at_ms = ? WHERE namespace = ? AND machine_id = ?"),
      blocks_due_(c,
                  "SELECT block, bound_ms FROM snowlease_expiry_block "
                  "INDEXED BY snowlease_expiry_block_bound WHERE namespace = ? AND "
                  "bound_ms <= ? AND block < ? AND (bound_ms, block) > (?, ?) "
                  "ORDER BY bound_ms, block LIMIT ?"),
      expirable_(c, kSelectLease +
                        "WHERE namespace = ? AND machine_id BETWEEN ? AND ? AND state = 2 AND "
                        "safe_guard_ms > 0 AND stable = 0"),
      drop_block_(c, "DELETE FROM snowlease_expiry_block WHERE namespace = ? AND block = ?"),
      set_block_(c,
                 "INSERT INTO snowlease_expiry_block (namespace, block, bound_ms) "
                 "VALUES (?, ?, ?) ON CONFLICT (namespace, block) DO UPDATE SET "
                 "bound_ms = excluded.bound_ms WHERE bound_ms <> excluded.bound_ms"),
      lower_block_(c,
                   "INSERT INTO snowlease_expiry_block (namespace, block, bound_ms) "
                   "VALUES (?, ?, ?) ON CONFLICT (namespace, block) DO UPDATE SET "
                   "bound_ms = excluded.bound_ms WHERE bound_ms > excluded.bound_ms"),
      add_grant_(c, "INSERT INTO snowlease_grant (" + kGrantColumns +
                        ", namespace, machine_id) VALUES "
                        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      trim_grants_(c,
                   "DELETE FROM snowlease_grant WHERE namespace = ?1 AND machine_id = ?2 AND "
                   "token <= (SELECT token FROM snowlease_grant WHERE namespace = ?1 AND "
                   "machine_id = ?2 ORDER BY token DESC LIMIT 1 OFFSET ?3)"),
      end_grant_(c,
                 "UPDATE snowlease_grant SET ended_at_ms = ?, window_end_ms = ?, "
                 "end_cause = ?, ended_unclean = ? "
                 "WHERE namespace = ? AND machine_id = ? AND token = ?"),
      find_grant_(c, kSelectGrant + "WHERE namespace = ? AND machine_id = ? AND token = ?"),
      grants_(c, kSelectGrant + "WHERE namespace = ? AND machine_id = ? ORDER BY token DESC"),
      add_audit_(
          c, "INSERT INTO snowlease_audit (" + kAuditColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?)"),
      audit_(c, "SELECT " + kAuditColumns +
                    " FROM snowlease_audit WHERE namespace = ? ORDER BY id DESC LIMIT ?"),
      // Byte by byte: LIKE would know wildcards, and fold the case.
      scan_(c, kSelectLease +
                   "WHERE namespace = ?1 AND machine_id >= ?2 AND (?3 IS NULL OR state = ?3) AND "
                   "(?4 = '' OR substr(CAST(instance_id AS BLOB), 1, length(CAST(?4 AS BLOB))) = "
                   "CAST(?4 AS BLOB)) ORDER BY machine_id LIMIT ?5"),
      drop_leases_(c, "DELETE FROM snowlease_lease WHERE namespace = ?"),
      drop_blocks_(c, "DELETE FROM snowlease_expiry_block WHERE namespace = ?"),
      drop_grants_(c, "DELETE FROM snowlease_grant WHERE namespace = ?"),
      touch_(c, "SELECT version FROM snowlease_schema") {}

void SqliteLeaseRows::Flush() {
  for (auto& [name, cached] : namespaces_) {
    if (!cached.changed) continue;
    const NamespaceRow& row = *cached.row;
    Query(put_namespace_, row.name, row.machine_bits, row.next_machine_id,
          row.policy.pinned_safe_guard, row.policy.allow_trust_clock, row.policy.lease_cap,
          row.base_floor, row.base_token, row.created_at, row.deleted, row.counts.free,
          row.counts.held, row.counts.kept, row.counts.reserved)
        .Run();
    cached.changed = false;
  }
}

std::optional<NamespaceRow> SqliteLeaseRows::GetNamespace(const std::string& name) {
  const auto known = namespaces_.find(name);
  if (known != namespaces_.end()) return known->second.row;
  Query query(get_namespace_, name);
  std::optional<NamespaceRow> row;
  if (query.Next()) row = TakeNamespace(query);
  return namespaces_[name].row = std::move(row);
}

void SqliteLeaseRows::PutNamespace(const NamespaceRow& row) { namespaces_[row.name] = {row, true}; }

std::optional<LeaseRow> SqliteLeaseRows::Get(const std::string& name_space, uint32_t machine_id) {
  Query query(get_lease_, name_space, machine_id);
  return TakeOneLease(query, name_space);
}

std::optional<LeaseRow> SqliteLeaseRows::FindInstance(const std::string& name_space,
                                                      const std::string& instance_id) {
  Query query(find_instance_, name_space, instance_id);
  return TakeOneLease(query, name_space);
}

std::optional<LeaseRow> SqliteLeaseRows::LowestFree(const std::string& name_space,
                                                    uint64_t id_limit) {
  Query query(lowest_free_, name_space, id_limit);
  return TakeOneLease(query, name_space);
}

void SqliteLeaseRows::Put(const LeaseRow& row) {
  const auto run = [&row](Statement& statement) {
    return Query(statement, row.state, row.instance_id, row.incarnation_id, row.token, row.source,
                 row.stable, row.safe_guard, row.window, row.floor, row.used, row.window_end,
                 row.watermark, row.fence, row.claimed_at, row.renewed_at, row.free_floor,
                 row.ended_token, row.end_cause, row.name_space, row.machine_id)
        .Run();
  };
  // Not an upsert: a row that keeps its instance id would conflict with itself there.
  if (run(update_lease_) == 0) run(insert_lease_);
}

void SqliteLeaseRows::PutRenewal(const LeaseRow& row) {
  Query(renew_lease_, row.used, row.window_end, row.watermark, row.renewed_at, row.name_space,
        row.machine_id)
      .Run();
}

std::vector<ExpiryBlock> SqliteLeaseRows::BlocksDue(const std::string& name_space, StoreTime until,
                                                    uint64_t id_limit,
                                                    const std::optional<ExpiryBlock>& after,
                                                    int limit) {
  const uint64_t block_limit = (id_limit + kExpiryBlockSize - 1) / kExpiryBlockSize;
  const int64_t after_bound = after ? after->bound.ms : std::numeric_limits<int64_t>::min();
  const int64_t after_block = after ? static_cast<int64_t>(after->block) : -1;
  Query query(blocks_due_, name_space, until, block_limit, after_bound, after_block, limit);
  std::vector<ExpiryBlock> blocks;
  while (query.Next()) {
    ExpiryBlock block;
    block.block = static_cast<uint32_t>(query.TakeInt());
    block.bound = query.TakeTime<StoreTime>();
    blocks.push_back(block);
  }
  return blocks;
}

std::vector<LeaseRow> SqliteLeaseRows::ExpirableInBlock(const std::string& name_space,
                                                        uint32_t block) {
  const int64_t first = int64_t{block} * kExpiryBlockSize;
  const int64_t last = first + kExpiryBlockSize - 1;
  Query query(expirable_, name_space, first, last);
  return TakeLeases(query, name_space);
}

void SqliteLeaseRows::SetBlockBound(const std::string& name_space, uint32_t block,
                                    std::optional<StoreTime> bound) {
  if (bound.has_value()) {
    Query(set_block_, name_space, block, *bound).Run();
  } else {
    Query(drop_block_, name_space, block).Run();
  }
}

void SqliteLeaseRows::LowerBlockBound(const std::string& name_space, uint32_t block,
                                      StoreTime bound) {
  Query(lower_block_, name_space, block, bound).Run();
}

void SqliteLeaseRows::AddGrant(const std::string& name_space, uint32_t machine_id,
                               const GrantRow& grant, int keep) {
  const std::string metadata = EncodeMetadata(grant.metadata);
  Query(add_grant_, grant.token, grant.instance_id, grant.incarnation_id, grant.source,
        grant.granted_at, grant.floor, metadata, grant.ended_at, grant.window_end, grant.end_cause,
        grant.ended_unclean, name_space, machine_id)
      .Run();
  Query(trim_grants_, name_space, machine_id, keep).Run();
}

void SqliteLeaseRows::EndGrant(const std::string& name_space, uint32_t machine_id, uint64_t token,
                               StoreTime ended_at, std::optional<ClientTime> window_end,
                               EndCause cause, bool unclean) {
  Query(end_grant_, ended_at, window_end, cause, unclean, name_space, machine_id, token).Run();
}

std::optional<GrantRow> SqliteLeaseRows::FindGrant(const std::string& name_space,
                                                   uint32_t machine_id, uint64_t token) {
  Query query(find_grant_, name_space, machine_id, token);
  if (!query.Next()) return std::nullopt;
  return TakeGrant(query, find_grant_.connection().path());
}

std::vector<GrantRow> SqliteLeaseRows::Grants(const std::string& name_space, uint32_t machine_id) {
  Query query(grants_, name_space, machine_id);
  std::vector<GrantRow> grants;
  while (query.Next()) grants.push_back(TakeGrant(query, grants_.connection().path()));
  return grants;
}

void SqliteLeaseRows::AddAudit(const AuditRow& row) {
  Query(add_audit_, row.at, row.actor, row.action, row.name_space, row.machine_id, row.reason,
        row.detail)
      .Run();
}

std::vector<LeaseRow> SqliteLeaseRows::Scan(const std::string& name_space,
                                            const LeaseFilter& filter, uint32_t from, int limit) {
  Query query(scan_, name_space, from, filter.state, filter.instance_prefix, limit);
  return TakeLeases(query, name_space);
}

void SqliteLeaseRows::DropLeases(const std::string& name_space) {
  Query(drop_leases_, name_space).Run();
  Query(drop_blocks_, name_space).Run();
  Query(drop_grants_, name_space).Run();
}

std::vector<NamespaceRow> SqliteLeaseRows::Namespaces(const std::string& after, int limit) {
  Query query(list_namespaces_, after, limit);
  std::vector<NamespaceRow> rows;
  while (query.Next()) rows.push_back(TakeNamespace(query));
  return rows;
}

std::vector<NamespaceRow> SqliteLeaseRows::AllNamespaces(const std::string& after, int limit) {
  Flush();
  Query query(all_namespaces_, after, limit);
  std::vector<NamespaceRow> rows;
  while (query.Next()) rows.push_back(TakeNamespace(query));
  return rows;
}

std::vector<AuditRow> SqliteLeaseRows::Audit(const std::string& name_space, int limit) {
  Query query(audit_, name_space, limit);
  std::vector<AuditRow> rows;
  while (query.Next()) rows.push_back(TakeAudit(query));
  return rows;
}

void SqliteLeaseRows::Touch() { Query(touch_).Next(); }

}  // namespace snowlease::storage
