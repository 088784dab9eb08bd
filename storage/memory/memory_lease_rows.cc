#include "storage/memory/memory_lease_rows.h"

#include <algorithm>

namespace snowlease::storage {
namespace {

bool Matches(const LeaseRow& row, const LeaseFilter& filter) {
  if (filter.state && row.state != *filter.state) return false;
  if (filter.instance_prefix.empty()) return true;
  return row.instance_id && row.instance_id->starts_with(filter.instance_prefix);
}

}  // namespace

std::optional<NamespaceRow> MemoryLeaseRows::GetNamespace(const std::string& name) {
  const auto it = namespaces_.find(name);
  if (it == namespaces_.end()) return std::nullopt;
  return it->second;
}

void MemoryLeaseRows::PutNamespace(const NamespaceRow& row) { namespaces_[row.name] = row; }

std::vector<NamespaceRow> MemoryLeaseRows::AllNamespaces(const std::string& after, int limit) {
  std::vector<NamespaceRow> rows;
  for (auto it = namespaces_.upper_bound(after); it != namespaces_.end(); ++it) {
    if (rows.size() == static_cast<size_t>(limit)) break;
    rows.push_back(it->second);
  }
  return rows;
}

const MemoryLeaseRows::Space* MemoryLeaseRows::Find(const std::string& name_space) const {
  const auto it = spaces_.find(name_space);
  return it == spaces_.end() ? nullptr : &it->second;
}

std::optional<LeaseRow> MemoryLeaseRows::Get(const std::string& name_space, uint32_t machine_id) {
  const Space* space = Find(name_space);
  if (space == nullptr) return std::nullopt;
  const auto it = space->leases.find(machine_id);
  if (it == space->leases.end()) return std::nullopt;
  return it->second;
}

std::optional<LeaseRow> MemoryLeaseRows::FindInstance(const std::string& name_space,
                                                      const std::string& instance_id) {
  const Space* space = Find(name_space);
  if (space == nullptr) return std::nullopt;
  const auto it = space->by_instance.find(instance_id);
  if (it == space->by_instance.end()) return std::nullopt;
  return space->leases.at(it->second);
}

std::optional<LeaseRow> MemoryLeaseRows::LowestFree(const std::string& name_space,
                                                    uint64_t id_limit) {
  const Space* space = Find(name_space);
  if (space == nullptr) return std::nullopt;
  for (const auto& [floor, machine_id] : space->free) {
    if (machine_id < id_limit) return space->leases.at(machine_id);
  }
  return std::nullopt;
}

void MemoryLeaseRows::Put(const LeaseRow& row) {
  Space& space = spaces_[row.name_space];
  LeaseRow& kept = space.leases[row.machine_id];
  if (kept.instance_id) space.by_instance.erase(*kept.instance_id);
  if (kept.free_floor) space.free.erase({*kept.free_floor, row.machine_id});
  kept = row;
  if (kept.instance_id) {
    const bool inserted = space.by_instance.emplace(*kept.instance_id, row.machine_id).second;
    if (!inserted) throw std::logic_error("an instance has two rows (H1)");
  }
  if (kept.free_floor) space.free.emplace(*kept.free_floor, row.machine_id);
}

void MemoryLeaseRows::PutRenewal(const LeaseRow& row) {
  LeaseRow& kept = spaces_[row.name_space].leases.at(row.machine_id);
  kept.used = row.used;
  kept.window_end = row.window_end;
  kept.watermark = row.watermark;
  kept.renewed_at = row.renewed_at;
}

std::vector<ExpiryBlock> MemoryLeaseRows::BlocksDue(const std::string& name_space, StoreTime until,
                                                    uint64_t id_limit,
                                                    const std::optional<ExpiryBlock>& after,
                                                    int limit) {
  std::vector<ExpiryBlock> due;
  const Space* space = Find(name_space);
  if (space == nullptr) return due;
  auto it =
      after ? space->by_bound.upper_bound({after->bound, after->block}) : space->by_bound.begin();
  for (; it != space->by_bound.end() && it->first <= until; ++it) {
    if (uint64_t{it->second} * kExpiryBlockSize >= id_limit) continue;
    due.push_back({it->second, it->first});
    if (due.size() == static_cast<size_t>(limit)) break;
  }
  return due;
}

std::vector<LeaseRow> MemoryLeaseRows::ExpirableInBlock(const std::string& name_space,
                                                        uint32_t block) {
  std::vector<LeaseRow> rows;
  const Space* space = Find(name_space);
  if (space == nullptr) return rows;
  const uint32_t first = block * kExpiryBlockSize;
  for (auto it = space->leases.lower_bound(first);
       it != space->leases.end() && it->first - first < kExpiryBlockSize; ++it) {
    const LeaseRow& row = it->second;
    const bool can_expire =
        row.state == LeaseState::kHeld && row.safe_guard > Millis(0) && !row.stable;
    if (can_expire) rows.push_back(row);
  }
  return rows;
}

void MemoryLeaseRows::SetBlockBound(const std::string& name_space, uint32_t block,
                                    std::optional<StoreTime> bound) {
  Space& space = spaces_[name_space];
  const auto it = space.bounds.find(block);
  if (it != space.bounds.end()) {
    space.by_bound.erase({it->second, block});
    space.bounds.erase(it);
  }
  if (!bound) return;
  space.bounds.emplace(block, *bound);
  space.by_bound.emplace(*bound, block);
}

void MemoryLeaseRows::LowerBlockBound(const std::string& name_space, uint32_t block,
                                      StoreTime bound) {
  const Space& space = spaces_[name_space];
  const auto it = space.bounds.find(block);
  if (it != space.bounds.end() && it->second <= bound) return;
  SetBlockBound(name_space, block, bound);
}

void MemoryLeaseRows::AddGrant(const std::string& name_space, uint32_t machine_id,
                               const GrantRow& grant, int keep) {
  auto& grants = spaces_[name_space].grants[machine_id];
  grants.push_back(grant);
  while (grants.size() > static_cast<size_t>(keep)) grants.pop_front();
}

GrantRow* MemoryLeaseRows::FindGrantRow(const std::string& name_space, uint32_t machine_id,
                                        uint64_t token) {
  const auto space = spaces_.find(name_space);
  if (space == spaces_.end()) return nullptr;
  const auto grants = space->second.grants.find(machine_id);
  if (grants == space->second.grants.end()) return nullptr;
  const auto it = std::find_if(grants->second.begin(), grants->second.end(),
                               [token](const GrantRow& grant) { return grant.token == token; });
  return it == grants->second.end() ? nullptr : &*it;
}

void MemoryLeaseRows::EndGrant(const std::string& name_space, uint32_t machine_id, uint64_t token,
                               StoreTime ended_at, std::optional<ClientTime> window_end,
                               EndCause cause, bool unclean) {
  GrantRow* grant = FindGrantRow(name_space, machine_id, token);
  if (grant == nullptr) return;
  grant->ended_at = ended_at;
  grant->window_end = window_end;
  grant->end_cause = cause;
  grant->ended_unclean = unclean;
}

std::optional<GrantRow> MemoryLeaseRows::FindGrant(const std::string& name_space,
                                                   uint32_t machine_id, uint64_t token) {
  const GrantRow* grant = FindGrantRow(name_space, machine_id, token);
  if (grant == nullptr) return std::nullopt;
  return *grant;
}

std::vector<GrantRow> MemoryLeaseRows::Grants(const std::string& name_space, uint32_t machine_id) {
  const Space* space = Find(name_space);
  if (space == nullptr) return {};
  const auto it = space->grants.find(machine_id);
  if (it == space->grants.end()) return {};
  return {it->second.rbegin(), it->second.rend()};
}

std::vector<LeaseRow> MemoryLeaseRows::Scan(const std::string& name_space,
                                            const LeaseFilter& filter, uint32_t from, int limit) {
  std::vector<LeaseRow> rows;
  const Space* space = Find(name_space);
  if (space == nullptr) return rows;
  for (auto it = space->leases.lower_bound(from); it != space->leases.end(); ++it) {
    if (rows.size() == static_cast<size_t>(limit)) break;
    if (Matches(it->second, filter)) rows.push_back(it->second);
  }
  return rows;
}

void MemoryLeaseRows::DropLeases(const std::string& name_space) { spaces_.erase(name_space); }

std::vector<NamespaceRow> MemoryLeaseRows::Namespaces(const std::string& after, int limit) const {
  std::vector<NamespaceRow> rows;
  for (auto it = namespaces_.upper_bound(after); it != namespaces_.end(); ++it) {
    if (rows.size() == static_cast<size_t>(limit)) break;
    if (!it->second.deleted) rows.push_back(it->second);
  }
  return rows;
}

std::vector<AuditRow> MemoryLeaseRows::Audit(const std::string& name_space, int limit) const {
  std::vector<AuditRow> rows;
  for (auto it = audit_.rbegin(); it != audit_.rend(); ++it) {
    if (rows.size() == static_cast<size_t>(limit)) break;
    if (it->name_space == name_space) rows.push_back(*it);
  }
  return rows;
}

}  // namespace snowlease::storage
