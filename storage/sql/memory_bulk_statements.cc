#include "storage/sql/memory_bulk_statements.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "storage/lease_rules.h"

namespace snowlease::storage {
namespace {

template <typename T, typename Key>
void CutTo(std::vector<T>& rows, int limit, Key key) {
  std::sort(rows.begin(), rows.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  if (rows.size() > static_cast<size_t>(limit)) rows.resize(static_cast<size_t>(limit));
}

// Callers promise sorted and distinct keys: locks are taken in that order.
template <typename T>
void CheckSorted(std::span<const T> keys) {
  if (std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<T>()) != keys.end()) {
    throw std::logic_error("keys are not sorted and distinct");
  }
}

}  // namespace

std::vector<std::string> MemoryBulkStatements::MakeNamespaces(std::span<const std::string> names) {
  ++statements;
  CheckSorted(names);
  std::vector<std::string> made;
  for (const std::string& name : names) {
    NamespaceRow row;
    row.name = name;
    row.deleted = true;
    if (namespaces.emplace(name, row).second) made.push_back(name);
  }
  return made;
}

void MemoryBulkStatements::DropNamespaces(std::span<const std::string> names) {
  ++statements;
  for (const std::string& name : names) namespaces.erase(name);
}

std::vector<NamespaceRow> MemoryBulkStatements::LockNamespaces(std::span<const std::string> names) {
  return GetNamespaces(names);
}

std::vector<NamespaceRow> MemoryBulkStatements::GetNamespaces(std::span<const std::string> names) {
  ++statements;
  CheckSorted(names);
  std::vector<NamespaceRow> rows;
  for (const std::string& name : names) {
    if (namespaces.contains(name)) rows.push_back(namespaces[name]);
  }
  return rows;
}

void MemoryBulkStatements::PutNamespaces(std::span<const NamespaceRow> rows) {
  ++statements;
  for (const NamespaceRow& row : rows) namespaces[row.name] = row;
}

std::vector<NamespaceRow> MemoryBulkStatements::ListNamespaces(const std::string& after,
                                                               int limit) {
  ++statements;
  std::vector<NamespaceRow> rows;
  for (auto it = namespaces.upper_bound(after); it != namespaces.end(); ++it) {
    if (!it->second.deleted) rows.push_back(it->second);
  }
  CutTo(rows, limit, [](const NamespaceRow& row) { return row.name; });
  return rows;
}

std::vector<std::string> MemoryBulkStatements::NamespaceNames(const std::string& after, int limit) {
  ++statements;
  std::vector<std::string> names;
  for (auto it = namespaces.upper_bound(after); it != namespaces.end(); ++it) {
    if (names.size() < static_cast<size_t>(limit)) names.push_back(it->first);
  }
  return names;
}

std::vector<LeaseRow> MemoryBulkStatements::Leases(std::span<const LeaseKey> keys, RowLock lock) {
  ++statements;
  CheckSorted(keys);
  std::vector<LeaseRow> rows;
  for (const LeaseKey& key : keys) {
    if (lock == RowLock::kSkip && held_by_others.contains(key)) continue;
    if (leases.contains(key)) rows.push_back(leases[key]);
  }
  return rows;
}

std::vector<LeaseRow> MemoryBulkStatements::LeasesOf(std::span<const InstanceKey> instances,
                                                     RowLock) {
  ++statements;
  CheckSorted(instances);
  std::vector<LeaseRow> rows;
  for (const auto& [key, row] : leases) {
    const bool asked =
        row.instance_id && std::binary_search(instances.begin(), instances.end(),
                                              InstanceKey{key.name_space, *row.instance_id});
    if (asked) rows.push_back(row);
  }
  return rows;
}

std::vector<LeaseRow> MemoryBulkStatements::FreeLeases(const std::string& name_space,
                                                       uint64_t id_limit,
                                                       const std::optional<FreePlace>& after,
                                                       int limit) {
  ++statements;
  std::vector<LeaseRow> rows;
  for (const auto& [key, row] : leases) {
    if (key.name_space != name_space || !row.free_floor || key.machine_id >= id_limit) continue;
    const auto place = std::pair(*row.free_floor, key.machine_id);
    if (!after || place > std::pair(after->floor, after->machine_id)) rows.push_back(row);
  }
  CutTo(rows, limit,
        [](const LeaseRow& row) { return std::pair(*row.free_floor, row.machine_id); });
  return rows;
}

void MemoryBulkStatements::PutLeases(std::span<const LeaseRow> rows) {
  ++statements;
  for (const LeaseRow& row : rows) leases[{row.name_space, row.machine_id}] = row;
  // As the unique index of the databases.
  std::set<InstanceKey> instances;
  for (const auto& [key, row] : leases) {
    if (!row.instance_id) continue;
    if (!instances.insert({key.name_space, *row.instance_id}).second) {
      throw std::logic_error("two rows of instance " + *row.instance_id);
    }
  }
}

void MemoryBulkStatements::PutRenewals(std::span<const LeaseRow> rows) {
  ++statements;
  for (const LeaseRow& row : rows) {
    LeaseRow& stored = leases.at({row.name_space, row.machine_id});
    stored.used = row.used;
    stored.window_end = row.window_end;
    stored.watermark = row.watermark;
    stored.renewed_at = row.renewed_at;
  }
}

std::vector<ExpiryBlock> MemoryBulkStatements::BlocksAfter(const std::string& name_space,
                                                           const std::optional<ExpiryBlock>& after,
                                                           int limit) {
  ++statements;
  std::vector<ExpiryBlock> rows;
  for (const auto& [key, bound] : bounds) {
    if (key.name_space != name_space) continue;
    const bool later =
        !after || std::pair(bound, key.block) > std::pair(after->bound, after->block);
    if (later) rows.push_back({key.block, bound});
  }
  CutTo(rows, limit, [](const ExpiryBlock& block) { return std::pair(block.bound, block.block); });
  return rows;
}

std::optional<StoreTime> MemoryBulkStatements::LockBlock(const BlockKey& block) {
  ++statements;
  const auto it = bounds.find(block);
  if (it == bounds.end()) return std::nullopt;
  return it->second;
}

std::vector<LeaseRow> MemoryBulkStatements::ExpirableLeases(const BlockKey& block) {
  ++statements;
  std::vector<LeaseRow> rows;
  for (const auto& [key, row] : leases) {
    const bool inside =
        key.name_space == block.name_space && key.machine_id / kExpiryBlockSize == block.block;
    if (inside && IsExpirable(row)) rows.push_back(row);
  }
  return rows;
}

void MemoryBulkStatements::PutBounds(std::span<const BlockBound> rows) {
  ++statements;
  for (const BlockBound& row : rows) bounds[row.block] = row.bound;
}

void MemoryBulkStatements::LowerBounds(std::span<const BlockBound> rows) {
  ++statements;
  for (const BlockBound& row : rows) {
    StoreTime& bound = bounds.emplace(row.block, row.bound).first->second;
    bound = std::min(bound, row.bound);
  }
}

void MemoryBulkStatements::DropBounds(std::span<const BlockKey> blocks) {
  ++statements;
  for (const BlockKey& block : blocks) bounds.erase(block);
}

void MemoryBulkStatements::AddGrants(std::span<const NewGrant> added, int keep) {
  ++statements;
  for (const NewGrant& grant : added) {
    grants[{grant.lease, grant.grant.token}] = grant.grant;
    std::erase_if(grants, [&](const auto& entry) {
      return entry.first.first == grant.lease &&
             entry.first.second + static_cast<uint64_t>(keep) <= grant.grant.token;
    });
  }
}

void MemoryBulkStatements::EndGrants(std::span<const GrantEnd> ends) {
  ++statements;
  for (const GrantEnd& end : ends) {
    const auto it = grants.find({end.lease, end.token});
    if (it == grants.end()) continue;
    it->second.ended_at = end.ended_at;
    it->second.window_end = end.window_end;
    it->second.end_cause = end.cause;
    it->second.ended_unclean = end.unclean;
  }
}

std::vector<GrantRow> MemoryBulkStatements::GrantsOf(const LeaseKey& lease) {
  ++statements;
  std::vector<GrantRow> rows;
  for (const auto& [key, grant] : grants) {
    if (key.first == lease) rows.insert(rows.begin(), grant);
  }
  return rows;
}

void MemoryBulkStatements::AddAudit(std::span<const AuditRow> rows) {
  ++statements;
  audit.insert(audit.end(), rows.begin(), rows.end());
}

std::vector<AuditRow> MemoryBulkStatements::Audit(const std::string& name_space, int limit) {
  ++statements;
  std::vector<AuditRow> rows;
  for (auto it = audit.rbegin(); it != audit.rend(); ++it) {
    if (it->name_space == name_space && rows.size() < static_cast<size_t>(limit)) {
      rows.push_back(*it);
    }
  }
  return rows;
}

std::vector<LeaseRow> MemoryBulkStatements::Scan(const std::string& name_space,
                                                 const LeaseFilter& filter, uint32_t from,
                                                 int limit) {
  ++statements;
  std::vector<LeaseRow> rows;
  for (const auto& [key, row] : leases) {
    const bool wanted = key.name_space == name_space && key.machine_id >= from &&
                        (!filter.state || row.state == *filter.state) &&
                        row.instance_id.value_or("").starts_with(filter.instance_prefix);
    if (wanted) rows.push_back(row);
  }
  CutTo(rows, limit, [](const LeaseRow& row) { return row.machine_id; });
  return rows;
}

void MemoryBulkStatements::DropLeases(const std::string& name_space) {
  ++statements;
  const auto is_its = [&](const LeaseKey& key) { return key.name_space == name_space; };
  std::erase_if(leases, [&](const auto& entry) { return is_its(entry.first); });
  std::erase_if(bounds, [&](const auto& entry) { return entry.first.name_space == name_space; });
  std::erase_if(grants, [&](const auto& entry) { return is_its(entry.first.first); });
}

}  // namespace snowlease::storage
