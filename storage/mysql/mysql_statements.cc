#include "storage/mysql/mysql_statements.h"

#include <algorithm>
#include <map>

#include "storage/errors.h"
#include "storage/mysql/tuples.h"
#include "storage/sql/metadata_codec.h"

namespace snowlease::storage::mysql {
namespace {

using Style = Tuples::Style;

// The order of the columns here is the order in which the functions below take and
// append them.
const std::string kNamespaceColumns =
    "namespace, machine_bits, next_machine_id, pinned_safe_guard_ms, allow_trust_clock, "
    "lease_cap, base_floor_ms, base_token, created_at_ms, deleted, free_count, held_count, "
    "kept_count, reserved_count";
const std::string kLeaseColumns =
    "l.namespace, l.machine_id, l.state, l.instance_id, l.incarnation_id, l.token, l.source, "
    "l.stable, l.safe_guard_ms, l.window_ms, l.floor_ms, l.used, l.window_end_ms, l.watermark_ms, "
    "l.fence_ms, l.claimed_at_ms, l.renewed_at_ms, l.free_floor_ms, l.ended_token, l.end_cause";
const std::string kInsertLeases =
    "INSERT INTO snowlease_lease (namespace, machine_id, state, instance_id, incarnation_id, "
    "token, source, stable, safe_guard_ms, window_ms, floor_ms, used, window_end_ms, "
    "watermark_ms, fence_ms, claimed_at_ms, renewed_at_ms, free_floor_ms, ended_token, "
    "end_cause) VALUES ";
const std::string kGrantColumns =
    "token, instance_id, incarnation_id, source, granted_at_ms, floor_ms, metadata, "
    "ended_at_ms, window_end_ms, end_cause, ended_unclean";
const std::string kAuditColumns = "at_ms, actor, action, namespace, machine_id, reason, detail";
const std::string kSelectLeases = "SELECT " + kLeaseColumns + " FROM ";

// In the statement of ExpirableLeases.
static_assert(static_cast<int>(LeaseState::kHeld) == 2);

// " ON DUPLICATE KEY UPDATE a = VALUES(a), ...". MariaDB knows no other name of the new
// row; MySQL 8.0.20 and later calls VALUES() out of date, and knows it.
std::string OnDuplicate(std::initializer_list<const char*> columns) {
  std::string text;
  for (const std::string column : columns) {
    text += text.empty() ? " ON DUPLICATE KEY UPDATE " : ", ";
    text += column + " = VALUES(" + column + ")";
  }
  return text;
}

const std::string kUpdateLeases = OnDuplicate(
    {"state", "instance_id", "incarnation_id", "token", "source", "stable", "safe_guard_ms",
     "window_ms", "floor_ms", "used", "window_end_ms", "watermark_ms", "fence_ms", "claimed_at_ms",
     "renewed_at_ms", "free_floor_ms", "ended_token", "end_cause"});
const std::string kUpdateNamespaces =
    OnDuplicate({"machine_bits", "next_machine_id", "pinned_safe_guard_ms", "allow_trust_clock",
                 "lease_cap", "base_floor_ms", "base_token", "created_at_ms", "deleted",
                 "free_count", "held_count", "kept_count", "reserved_count"});

// The tuples as a table k, read before what it is joined with (STRAIGHT_JOIN), so that rows
// are locked in the order of the tuples. Bytes are in hexadecimal digits; their columns are
// named with an h.
std::string KeyTable(const Tuples& tuples, const std::string& columns) {
  return "JSON_TABLE('" + tuples.text() + "', '$[*]' COLUMNS (" + columns + ")) k";
}

std::string HexColumn(const char* name, int position) {
  return std::string(name) + " VARCHAR(510) CHARACTER SET ascii PATH '$[" +
         std::to_string(position) + "]'";
}

std::string NumberColumn(const char* name, int position) {
  return std::string(name) + " BIGINT PATH '$[" + std::to_string(position) + "]'";
}

std::string IdColumn(const char* name, int position) {
  return std::string(name) + " INT UNSIGNED PATH '$[" + std::to_string(position) + "]'";
}

const std::string kLeaseKeyColumns = HexColumn("hn", 0) + ", " + IdColumn("m", 1);
const std::string kJoinLease =
    " STRAIGHT_JOIN snowlease_lease l ON l.namespace = UNHEX(k.hn) AND l.machine_id = k.m";

const char* LockText(RowLock lock) {
  switch (lock) {
    case RowLock::kWait:
      return " FOR UPDATE";
    case RowLock::kSkip:
      return " FOR UPDATE SKIP LOCKED";
    case RowLock::kNone:
      break;
  }
  return "";
}

NamespaceRow TakeNamespace(Rows& rows) {
  NamespaceRow row;
  row.name = rows.TakeText();
  row.machine_bits = static_cast<int>(rows.TakeInt());
  row.next_machine_id = static_cast<uint32_t>(rows.TakeInt());
  row.policy.pinned_safe_guard = rows.TakeOptional([&] { return rows.TakeMillis(); });
  row.policy.allow_trust_clock = rows.TakeBool();
  row.policy.lease_cap = rows.TakeOptional([&] { return static_cast<uint64_t>(rows.TakeInt()); });
  row.base_floor = rows.TakeTime<ClientTime>();
  row.base_token = static_cast<uint64_t>(rows.TakeInt());
  row.created_at = rows.TakeTime<StoreTime>();
  row.deleted = rows.TakeBool();
  row.counts.free = static_cast<uint64_t>(rows.TakeInt());
  row.counts.held = static_cast<uint64_t>(rows.TakeInt());
  row.counts.kept = static_cast<uint64_t>(rows.TakeInt());
  row.counts.reserved = static_cast<uint64_t>(rows.TakeInt());
  return row;
}

LeaseRow TakeLease(Rows& rows) {
  LeaseRow row;
  row.name_space = rows.TakeText();
  row.machine_id = static_cast<uint32_t>(rows.TakeInt());
  row.state = static_cast<LeaseState>(rows.TakeInt());
  row.instance_id = rows.TakeOptional([&] { return rows.TakeText(); });
  row.incarnation_id = rows.TakeId();
  row.token = static_cast<uint64_t>(rows.TakeInt());
  row.source = static_cast<LeaseSource>(rows.TakeInt());
  row.stable = rows.TakeBool();
  row.safe_guard = rows.TakeMillis();
  row.window = rows.TakeMillis();
  row.floor = rows.TakeTime<ClientTime>();
  row.used = rows.TakeBool();
  row.window_end = rows.TakeOptional([&] { return rows.TakeTime<ClientTime>(); });
  row.watermark = rows.TakeTime<ClientTime>();
  row.fence = rows.TakeTime<ClientTime>();
  row.claimed_at = rows.TakeTime<StoreTime>();
  row.renewed_at = rows.TakeTime<StoreTime>();
  row.free_floor = rows.TakeOptional([&] { return rows.TakeTime<ClientTime>(); });
  row.ended_token = static_cast<uint64_t>(rows.TakeInt());
  row.end_cause = static_cast<EndCause>(rows.TakeInt());
  return row;
}

GrantRow TakeGrant(Rows& rows, const std::string& server) {
  GrantRow grant;
  grant.token = static_cast<uint64_t>(rows.TakeInt());
  grant.instance_id = rows.TakeText();
  grant.incarnation_id = rows.TakeId();
  grant.source = static_cast<LeaseSource>(rows.TakeInt());
  grant.granted_at = rows.TakeTime<StoreTime>();
  grant.floor = rows.TakeTime<ClientTime>();
  auto metadata = DecodeMetadata(rows.TakeText());
  if (!metadata.has_value()) {
    throw StoreFailure(InternalError("column metadata of table snowlease_grant in " + server +
                                     " is damaged; restore the database from a backup"));
  }
  grant.metadata = *std::move(metadata);
  grant.ended_at = rows.TakeOptional([&] { return rows.TakeTime<StoreTime>(); });
  grant.window_end = rows.TakeOptional([&] { return rows.TakeTime<ClientTime>(); });
  grant.end_cause = static_cast<EndCause>(rows.TakeInt());
  grant.ended_unclean = rows.TakeBool();
  return grant;
}

void AddLease(Tuples& tuples, const LeaseRow& row) {
  tuples.Add(row.name_space, row.machine_id, row.state, row.instance_id, row.incarnation_id,
             row.token, row.source, row.stable, row.safe_guard, row.window, row.floor, row.used,
             row.window_end, row.watermark, row.fence, row.claimed_at, row.renewed_at,
             row.free_floor, row.ended_token, row.end_cause);
}

Tuples NamesOf(std::span<const std::string> names) {
  Tuples tuples(Style::kJson);
  for (const std::string& name : names) tuples.Add(name);
  return tuples;
}

}  // namespace

// ---- namespaces ----

std::vector<std::string> MysqlStatements::MakeNamespaces(std::span<const std::string> names) {
  std::vector<std::string> made;
  for (const std::string& name : names) {
    // One at a time: only so the server tells which of them were there.
    const uint64_t rows = connection_.Execute("INSERT IGNORE INTO snowlease_namespace (" +
                                              kNamespaceColumns + ") VALUES (" + Hex(name) +
                                              ", 0, 0, NULL, 0, NULL, 0, 0, 0, 1, 0, 0, 0, 0)");
    if (rows > 0) made.push_back(name);
  }
  return made;
}

void MysqlStatements::DropNamespaces(std::span<const std::string> names) {
  if (names.empty()) return;
  connection_.Execute("DELETE s FROM " + KeyTable(NamesOf(names), HexColumn("hn", 0)) +
                      " STRAIGHT_JOIN snowlease_namespace s ON s.namespace = UNHEX(k.hn)");
}

std::vector<NamespaceRow> MysqlStatements::QueryNamespaces(const std::string& sql) {
  Rows rows = connection_.Query(sql);
  std::vector<NamespaceRow> taken;
  while (rows.Next()) taken.push_back(TakeNamespace(rows));
  return taken;
}

std::vector<NamespaceRow> MysqlStatements::LockNamespaces(std::span<const std::string> names) {
  if (names.empty()) return {};
  return QueryNamespaces("SELECT " + kNamespaceColumns + " FROM " +
                         KeyTable(NamesOf(names), HexColumn("hn", 0)) +
                         " STRAIGHT_JOIN snowlease_namespace s ON s.namespace = UNHEX(k.hn)"
                         " FOR UPDATE");
}

std::vector<NamespaceRow> MysqlStatements::GetNamespaces(std::span<const std::string> names) {
  if (names.empty()) return {};
  return QueryNamespaces("SELECT " + kNamespaceColumns + " FROM " +
                         KeyTable(NamesOf(names), HexColumn("hn", 0)) +
                         " STRAIGHT_JOIN snowlease_namespace s ON s.namespace = UNHEX(k.hn)");
}

void MysqlStatements::PutNamespaces(std::span<const NamespaceRow> rows) {
  if (rows.empty()) return;
  Tuples tuples(Style::kValues);
  for (const NamespaceRow& row : rows) {
    tuples.Add(row.name, row.machine_bits, row.next_machine_id, row.policy.pinned_safe_guard,
               row.policy.allow_trust_clock, row.policy.lease_cap, row.base_floor, row.base_token,
               row.created_at, row.deleted, row.counts.free, row.counts.held, row.counts.kept,
               row.counts.reserved);
  }
  connection_.Execute("INSERT INTO snowlease_namespace (" + kNamespaceColumns + ") VALUES " +
                      tuples.text() + kUpdateNamespaces);
}

std::vector<NamespaceRow> MysqlStatements::ListNamespaces(const std::string& after, int limit) {
  return QueryNamespaces("SELECT " + kNamespaceColumns +
                         " FROM snowlease_namespace WHERE namespace > " + Hex(after) +
                         " AND deleted = 0 ORDER BY namespace LIMIT " + std::to_string(limit));
}

std::vector<std::string> MysqlStatements::NamespaceNames(const std::string& after, int limit) {
  Rows rows = connection_.Query("SELECT namespace FROM snowlease_namespace WHERE namespace > " +
                                Hex(after) + " ORDER BY namespace LIMIT " + std::to_string(limit));
  std::vector<std::string> names;
  while (rows.Next()) names.push_back(rows.TakeText());
  return names;
}

// ---- leases ----

std::vector<LeaseRow> MysqlStatements::QueryLeases(const std::string& sql) {
  Rows rows = connection_.Query(sql);
  std::vector<LeaseRow> taken;
  while (rows.Next()) taken.push_back(TakeLease(rows));
  return taken;
}

std::vector<LeaseRow> MysqlStatements::Leases(std::span<const LeaseKey> keys, RowLock lock) {
  if (keys.empty()) return {};
  Tuples tuples(Style::kJson);
  for (const LeaseKey& key : keys) tuples.Add(key.name_space, key.machine_id);
  return QueryLeases(kSelectLeases + KeyTable(tuples, kLeaseKeyColumns) + kJoinLease +
                     LockText(lock));
}

std::vector<LeaseRow> MysqlStatements::LeasesOf(std::span<const InstanceKey> instances,
                                                RowLock lock) {
  if (instances.empty()) return {};
  Tuples tuples(Style::kJson);
  for (const InstanceKey& key : instances) tuples.Add(key.name_space, key.instance_id);
  std::vector<LeaseRow> rows =
      QueryLeases(kSelectLeases + KeyTable(tuples, HexColumn("hn", 0) + ", " + HexColumn("hi", 1)) +
                  " STRAIGHT_JOIN snowlease_lease l FORCE INDEX (snowlease_lease_instance)"
                  " ON l.namespace = UNHEX(k.hn) AND l.instance_id = UNHEX(k.hi)");
  if (lock == RowLock::kNone || rows.empty()) return rows;
  // Locked by key, in the order of renewals; while their namespaces are locked, rows keep
  // their instances.
  std::vector<LeaseKey> keys;
  for (const LeaseRow& row : rows) keys.push_back({row.name_space, row.machine_id});
  std::sort(keys.begin(), keys.end());
  return Leases(keys, lock);
}

std::vector<LeaseRow> MysqlStatements::FreeLeases(const std::string& name_space, uint64_t id_limit,
                                                  const std::optional<FreePlace>& after,
                                                  int limit) {
  std::string beyond = "free_floor_ms IS NOT NULL";
  if (after) {
    const std::string floor = std::to_string(after->floor.ms);
    beyond = "free_floor_ms >= " + floor + " AND (free_floor_ms > " + floor + " OR machine_id > " +
             std::to_string(after->machine_id) + ")";
  }
  return QueryLeases(kSelectLeases +
                     "snowlease_lease l FORCE INDEX (snowlease_lease_free) WHERE namespace = " +
                     Hex(name_space) + " AND machine_id < " + std::to_string(id_limit) + " AND " +
                     beyond + " ORDER BY free_floor_ms, machine_id LIMIT " + std::to_string(limit));
}

// Takes the instance from rows that are about to get another one or none. An instance may
// move from row to row within a batch, and each row is checked by itself.
void MysqlStatements::ClearInstances(const Tuples& changed) {
  connection_.Execute("UPDATE " + KeyTable(changed, kLeaseKeyColumns) + kJoinLease +
                      " SET l.instance_id = NULL");
}

void MysqlStatements::PutLeases(std::span<const LeaseRow> rows) {
  if (rows.empty()) return;
  // Only of a row that is known to be there ON DUPLICATE KEY says the same as UPDATE: it
  // takes a row of the same instance for a duplicate, too.
  Tuples keys(Style::kJson);
  for (const LeaseRow& row : rows) keys.Add(row.name_space, row.machine_id);
  std::map<LeaseKey, std::optional<std::string>> stored;
  Rows found = connection_.Query("SELECT l.namespace, l.machine_id, l.instance_id FROM " +
                                 KeyTable(keys, kLeaseKeyColumns) + kJoinLease);
  while (found.Next()) {
    LeaseKey key;
    key.name_space = found.TakeText();
    key.machine_id = static_cast<uint32_t>(found.TakeInt());
    stored[std::move(key)] = found.TakeOptional([&] { return found.TakeText(); });
  }
  Tuples changed(Style::kJson);
  Tuples present(Style::kValues);
  Tuples missing(Style::kValues);
  for (const LeaseRow& row : rows) {
    const auto it = stored.find({row.name_space, row.machine_id});
    AddLease(it == stored.end() ? missing : present, row);
    if (it != stored.end() && it->second && it->second != row.instance_id) {
      changed.Add(row.name_space, row.machine_id);
    }
  }
  if (!changed.empty() && rows.size() > 1) ClearInstances(changed);
  if (!present.empty()) connection_.Execute(kInsertLeases + present.text() + kUpdateLeases);
  if (!missing.empty()) connection_.Execute(kInsertLeases + missing.text());
}

void MysqlStatements::PutRenewals(std::span<const LeaseRow> rows) {
  if (rows.empty()) return;
  static const std::string columns =
      kLeaseKeyColumns + ", " + IdColumn("used", 2) + ", " + NumberColumn("window_end", 3) + ", " +
      NumberColumn("watermark", 4) + ", " + NumberColumn("renewed_at", 5);
  Tuples tuples(Style::kJson);
  for (const LeaseRow& row : rows) {
    tuples.Add(row.name_space, row.machine_id, row.used, row.window_end, row.watermark,
               row.renewed_at);
  }
  const uint64_t found = connection_.Execute(
      "UPDATE " + KeyTable(tuples, columns) + kJoinLease +
      " SET l.used = k.used, l.window_end_ms = k.window_end, l.watermark_ms = k.watermark, "
      "l.renewed_at_ms = k.renewed_at");
  if (found != rows.size()) {
    throw StoreFailure(InternalError("a row that was locked for its renewal is gone"));
  }
}

std::vector<LeaseRow> MysqlStatements::Scan(const std::string& name_space,
                                            const LeaseFilter& filter, uint32_t from, int limit) {
  std::string where =
      "namespace = " + Hex(name_space) + " AND machine_id >= " + std::to_string(from);
  if (filter.state) where += " AND state = " + std::to_string(static_cast<int>(*filter.state));
  if (!filter.instance_prefix.empty()) {
    // Byte by byte: LIKE would know wildcards.
    where += " AND LEFT(instance_id, " + std::to_string(filter.instance_prefix.size()) +
             ") = " + Hex(filter.instance_prefix);
  }
  return QueryLeases(kSelectLeases + "snowlease_lease l WHERE " + where +
                     " ORDER BY machine_id LIMIT " + std::to_string(limit) +
                     (kind_ == Connection::Kind::kWrite ? " FOR UPDATE" : ""));
}

void MysqlStatements::DropLeases(const std::string& name_space) {
  for (const char* table : {"snowlease_lease", "snowlease_expiry_block", "snowlease_grant"}) {
    connection_.Execute(std::string("DELETE FROM ") + table +
                        " WHERE namespace = " + Hex(name_space));
  }
}

// ---- expiry ----

std::vector<ExpiryBlock> MysqlStatements::BlocksAfter(const std::string& name_space,
                                                      const std::optional<ExpiryBlock>& after,
                                                      int limit) {
  std::string where = "namespace = " + Hex(name_space);
  if (after) {
    const std::string bound = std::to_string(after->bound.ms);
    where += " AND bound_ms >= " + bound + " AND (bound_ms > " + bound + " OR block > " +
             std::to_string(after->block) + ")";
  }
  Rows rows = connection_.Query(
      "SELECT block, bound_ms FROM snowlease_expiry_block FORCE INDEX "
      "(snowlease_expiry_block_bound) WHERE " +
      where + " ORDER BY bound_ms, block LIMIT " + std::to_string(limit));
  std::vector<ExpiryBlock> blocks;
  while (rows.Next()) {
    ExpiryBlock block;
    block.block = static_cast<uint32_t>(rows.TakeInt());
    block.bound = rows.TakeTime<StoreTime>();
    blocks.push_back(block);
  }
  return blocks;
}

std::optional<StoreTime> MysqlStatements::LockBlock(const BlockKey& block) {
  Rows rows = connection_.Query(
      "SELECT bound_ms FROM snowlease_expiry_block WHERE namespace = " + Hex(block.name_space) +
      " AND block = " + std::to_string(block.block) + " FOR UPDATE");
  if (!rows.Next()) return std::nullopt;
  return rows.TakeTime<StoreTime>();
}

std::vector<LeaseRow> MysqlStatements::ExpirableLeases(const BlockKey& block) {
  const uint64_t first = uint64_t{block.block} * kExpiryBlockSize;
  return QueryLeases(kSelectLeases + "snowlease_lease l WHERE namespace = " +
                     Hex(block.name_space) + " AND machine_id BETWEEN " + std::to_string(first) +
                     " AND " + std::to_string(first + kExpiryBlockSize - 1) +
                     " AND state = 2 AND safe_guard_ms > 0 AND stable = 0");
}

void MysqlStatements::PutBoundsWith(std::span<const BlockBound> bounds, const std::string& update) {
  if (bounds.empty()) return;
  Tuples tuples(Style::kValues);
  for (const BlockBound& bound : bounds) {
    tuples.Add(bound.block.name_space, bound.block.block, bound.bound);
  }
  connection_.Execute("INSERT INTO snowlease_expiry_block (namespace, block, bound_ms) VALUES " +
                      tuples.text() + " ON DUPLICATE KEY UPDATE bound_ms = " + update);
}

void MysqlStatements::PutBounds(std::span<const BlockBound> bounds) {
  PutBoundsWith(bounds, "VALUES(bound_ms)");
}

void MysqlStatements::LowerBounds(std::span<const BlockBound> bounds) {
  PutBoundsWith(bounds, "LEAST(bound_ms, VALUES(bound_ms))");
}

void MysqlStatements::DropBounds(std::span<const BlockKey> blocks) {
  if (blocks.empty()) return;
  Tuples tuples(Style::kJson);
  for (const BlockKey& block : blocks) tuples.Add(block.name_space, block.block);
  connection_.Execute("DELETE b FROM " + KeyTable(tuples, kLeaseKeyColumns) +
                      " STRAIGHT_JOIN snowlease_expiry_block b ON b.namespace = UNHEX(k.hn) AND "
                      "b.block = k.m");
}

// ---- history ----

void MysqlStatements::AddGrants(std::span<const NewGrant> grants, int keep) {
  if (grants.empty()) return;
  Tuples added(Style::kValues);
  std::map<LeaseKey, uint64_t> newest;
  for (const NewGrant& entry : grants) {
    const GrantRow& grant = entry.grant;
    added.Add(entry.lease.name_space, entry.lease.machine_id, grant.token, grant.instance_id,
              grant.incarnation_id, grant.source, grant.granted_at, grant.floor,
              EncodeMetadata(grant.metadata), grant.ended_at, grant.window_end, grant.end_cause,
              grant.ended_unclean);
    uint64_t& token = newest[entry.lease];
    token = std::max(token, grant.token);
  }
  connection_.Execute("INSERT INTO snowlease_grant (namespace, machine_id, " + kGrantColumns +
                      ") VALUES " + added.text());
  Tuples forgotten(Style::kJson);
  for (const auto& [lease, token] : newest) {
    if (token <= static_cast<uint64_t>(keep)) continue;
    forgotten.Add(lease.name_space, lease.machine_id, token - static_cast<uint64_t>(keep));
  }
  if (forgotten.empty()) return;
  connection_.Execute("DELETE g FROM " +
                      KeyTable(forgotten, kLeaseKeyColumns + ", " + NumberColumn("token", 2)) +
                      " STRAIGHT_JOIN snowlease_grant g ON g.namespace = UNHEX(k.hn) AND "
                      "g.machine_id = k.m AND g.token <= k.token AND "
                      "g.token > k.token - " +
                      std::to_string(kFenceTokens / 2));
}

void MysqlStatements::EndGrants(std::span<const GrantEnd> ends) {
  if (ends.empty()) return;
  static const std::string columns = kLeaseKeyColumns + ", " + NumberColumn("token", 2) + ", " +
                                     NumberColumn("ended_at", 3) + ", " +
                                     NumberColumn("window_end", 4) + ", " + IdColumn("cause", 5) +
                                     ", " + IdColumn("unclean", 6);
  Tuples tuples(Style::kJson);
  for (const GrantEnd& end : ends) {
    tuples.Add(end.lease.name_space, end.lease.machine_id, end.token, end.ended_at, end.window_end,
               end.cause, end.unclean);
  }
  connection_.Execute("UPDATE " + KeyTable(tuples, columns) +
                      " STRAIGHT_JOIN snowlease_grant g ON g.namespace = UNHEX(k.hn) AND "
                      "g.machine_id = k.m AND g.token = k.token SET g.ended_at_ms = k.ended_at, "
                      "g.window_end_ms = k.window_end, g.end_cause = k.cause, "
                      "g.ended_unclean = k.unclean");
}

std::vector<GrantRow> MysqlStatements::GrantsOf(const LeaseKey& lease) {
  Rows rows = connection_.Query("SELECT " + kGrantColumns +
                                " FROM snowlease_grant WHERE namespace = " + Hex(lease.name_space) +
                                " AND machine_id = " + std::to_string(lease.machine_id) +
                                " ORDER BY token DESC");
  std::vector<GrantRow> grants;
  while (rows.Next()) grants.push_back(TakeGrant(rows, connection_.server()));
  return grants;
}

// ---- audit ----

void MysqlStatements::AddAudit(std::span<const AuditRow> rows) {
  if (rows.empty()) return;
  Tuples tuples(Style::kValues);
  for (const AuditRow& row : rows) {
    tuples.Add(row.at, row.actor, row.action, row.name_space, row.machine_id, row.reason,
               row.detail);
  }
  connection_.Execute("INSERT INTO snowlease_audit (" + kAuditColumns + ") VALUES " +
                      tuples.text());
}

std::vector<AuditRow> MysqlStatements::Audit(const std::string& name_space, int limit) {
  Rows rows = connection_.Query("SELECT " + kAuditColumns +
                                " FROM snowlease_audit WHERE namespace = " + Hex(name_space) +
                                " ORDER BY id DESC LIMIT " + std::to_string(limit));
  std::vector<AuditRow> audit;
  while (rows.Next()) {
    AuditRow row;
    row.at = rows.TakeTime<StoreTime>();
    row.actor = rows.TakeText();
    row.action = rows.TakeText();
    row.name_space = rows.TakeText();
    row.machine_id = rows.TakeOptional([&] { return static_cast<uint32_t>(rows.TakeInt()); });
    row.reason = rows.TakeText();
    row.detail = rows.TakeText();
    audit.push_back(std::move(row));
  }
  return audit;
}

}  // namespace snowlease::storage::mysql
