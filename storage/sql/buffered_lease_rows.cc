#include "storage/sql/buffered_lease_rows.h"

#include <algorithm>

#include "storage/lease_rules.h"

namespace snowlease::storage {
namespace {

// More than one claim takes, so that a few rows that do not fit cost no further read.
constexpr size_t kReadAheadSpare = 4;
constexpr int kFreePage = 64;

template <typename T>
std::vector<T> ListOf(const std::set<T>& set) {
  return {set.begin(), set.end()};
}

}  // namespace

// ---- reading ahead ----

void BufferedLeaseRows::PrepareClaims(std::span<const ClaimSpec> specs) {
  std::set<std::string> names;
  std::set<std::string> create;
  std::set<InstanceKey> instances;
  std::map<std::pair<std::string, uint64_t>, size_t> claims;
  for (const ClaimSpec& spec : specs) {
    names.insert(spec.name_space);
    if (spec.may_create_namespace) create.insert(spec.name_space);
    instances.insert({spec.name_space, spec.instance_id});
    ++claims[{spec.name_space, uint64_t{1} << spec.machine_bits}];
  }
  LockNamespaces(names, create);
  for (const InstanceKey& instance : instances) instances_[instance];
  Keep(statements_->LeasesOf(ListOf(instances), RowLock::kWait), /*locked=*/true);
  for (const auto& [key, count] : claims) {
    const auto& row = namespaces_[key.first].row;
    if (!row || row->deleted) continue;
    if (row->counts.free > 0) ReadAheadFree(key.first, key.second, count);
    ReadAheadNumbers(key.first, count);
  }
}

void BufferedLeaseRows::PrepareGrants(std::span<const GrantKey> grants) {
  std::set<std::string> names;
  for (const GrantKey& grant : grants) names.insert(grant.name_space);
  LockNamespaces(names, {});
  LockLeases(grants);
}

void BufferedLeaseRows::PrepareRenewals(std::span<const GrantKey> grants) { LockLeases(grants); }

void BufferedLeaseRows::LockLeases(std::span<const GrantKey> grants) {
  std::set<LeaseKey> keys;
  for (const GrantKey& grant : grants) keys.insert({grant.name_space, grant.machine_id});
  for (const LeaseKey& key : keys) leases_[key].locked = true;
  Keep(statements_->Leases(ListOf(keys), RowLock::kWait), /*locked=*/true);
}

void BufferedLeaseRows::ReadAhead(std::span<const GrantKey> grants) {
  std::set<LeaseKey> keys;
  std::set<InstanceKey> instances;
  for (const GrantKey& grant : grants) {
    keys.insert({grant.name_space, grant.machine_id});
    instances.insert({grant.name_space, grant.instance_id});
  }
  for (const LeaseKey& key : keys) leases_[key];
  for (const InstanceKey& key : instances) instances_[key];
  Keep(statements_->Leases(ListOf(keys), RowLock::kNone), /*locked=*/false);
  Keep(statements_->LeasesOf(ListOf(instances), RowLock::kNone), /*locked=*/false);
}

void BufferedLeaseRows::PrepareNamespace(const std::string& name, bool may_create) {
  LockNamespaces({name}, may_create ? std::set{name} : std::set<std::string>{});
}

void BufferedLeaseRows::LockNamespaces(const std::set<std::string>& names,
                                       const std::set<std::string>& create) {
  for (const std::string& name : names) namespaces_[name];
  const auto lock = [this](const std::set<std::string>& wanted) {
    for (NamespaceRow& row : statements_->LockNamespaces(ListOf(wanted))) {
      const std::string name = row.name;
      namespaces_[name].row = std::move(row);
    }
  };
  lock(names);
  std::set<std::string> missing;
  for (const std::string& name : create) {
    if (!namespaces_[name].row) missing.insert(name);
  }
  if (missing.empty()) return;
  // What is not there cannot be locked. Made in the order of names, after the others: two
  // batches that make namespaces may meet in a deadlock, which the database ends and the
  // store repeats.
  for (const std::string& name : statements_->MakeNamespaces(ListOf(missing))) {
    made_namespaces_.insert(name);
  }
  lock(missing);
}

void BufferedLeaseRows::ReadAheadNumbers(const std::string& name_space, size_t claims) {
  const NamespaceRow& row = *namespaces_[name_space].row;
  const uint64_t end = std::min(uint64_t{1} << row.machine_bits,
                                row.next_machine_id + uint64_t{claims} + kReadAheadSpare);
  std::vector<LeaseKey> keys;
  for (uint64_t id = row.next_machine_id; id < end; ++id) {
    const LeaseKey key{name_space, static_cast<uint32_t>(id)};
    if (leases_.emplace(key, LeaseEntry{}).second) keys.push_back(key);
  }
  Keep(statements_->Leases(keys, RowLock::kNone), /*locked=*/false);
}

void BufferedLeaseRows::ReadAheadFree(const std::string& name_space, uint64_t id_limit,
                                      size_t claims) {
  ReadFreePage(name_space, id_limit, free_[{name_space, id_limit}],
               static_cast<int>(claims + kReadAheadSpare));
}

void BufferedLeaseRows::ReadFreePage(const std::string& name_space, uint64_t id_limit,
                                     FreeRows& rows, int limit) {
  auto page = statements_->FreeLeases(name_space, id_limit, rows.read_until, limit);
  rows.complete = page.size() < static_cast<size_t>(limit);
  for (const LeaseRow& row : page) rows.read.push_back({*row.free_floor, row.machine_id});
  if (!page.empty()) rows.read_until = rows.read.back();
  Keep(std::move(page), /*locked=*/false);
}

// Rows that this transaction has locked or changed are newer than what a read without a
// lock says of them.
void BufferedLeaseRows::Keep(std::vector<LeaseRow> rows, bool locked) {
  for (LeaseRow& row : rows) {
    if (row.instance_id) {
      instances_.insert_or_assign({row.name_space, *row.instance_id}, row.machine_id);
    }
    LeaseEntry& entry = leases_[{row.name_space, row.machine_id}];
    if (entry.row && (entry.locked || entry.change != Change::kNone) && !locked) continue;
    entry.row = std::move(row);
    entry.locked = entry.locked || locked;
  }
}

// ---- rows ----

std::optional<NamespaceRow> BufferedLeaseRows::GetNamespace(const std::string& name) {
  const auto it = namespaces_.find(name);
  if (it != namespaces_.end()) return it->second.row;
  NamespaceEntry entry;
  const std::string names[] = {name};
  auto rows = statements_->GetNamespaces(names);
  if (!rows.empty()) entry.row = std::move(rows.front());
  return namespaces_.emplace(name, std::move(entry)).first->second.row;
}

void BufferedLeaseRows::PutNamespace(const NamespaceRow& row) {
  namespaces_[row.name] = {row, true};
  made_namespaces_.erase(row.name);
}

std::vector<NamespaceRow> BufferedLeaseRows::AllNamespaces(const std::string& after, int limit) {
  Flush();
  const std::vector<std::string> names = statements_->NamespaceNames(after, limit);
  LockNamespaces({names.begin(), names.end()}, {});
  std::vector<NamespaceRow> rows;
  for (const std::string& name : names) {
    if (const auto& row = namespaces_.at(name).row) rows.push_back(*row);
  }
  return rows;
}

const BufferedLeaseRows::LeaseEntry* BufferedLeaseRows::Find(const std::string& name_space,
                                                             uint32_t machine_id) const {
  const auto it = leases_.find({name_space, machine_id});
  return it == leases_.end() ? nullptr : &it->second;
}

std::optional<LeaseRow> BufferedLeaseRows::Get(const std::string& name_space, uint32_t machine_id) {
  if (const LeaseEntry* entry = Find(name_space, machine_id)) return entry->row;
  const LeaseKey keys[] = {{name_space, machine_id}};
  leases_[keys[0]];
  Keep(statements_->Leases(keys, read_only_ ? RowLock::kNone : RowLock::kWait), !read_only_);
  return Find(name_space, machine_id)->row;
}

std::optional<LeaseRow> BufferedLeaseRows::FindInstance(const std::string& name_space,
                                                        const std::string& instance_id) {
  const InstanceKey key{name_space, instance_id};
  auto it = instances_.find(key);
  if (it == instances_.end()) {
    it = instances_.emplace(key, std::nullopt).first;
    // Nobody is robbed on the word of this read: it only tells why a grant was lost.
    Keep(statements_->LeasesOf({&key, 1}, RowLock::kNone), /*locked=*/false);
  }
  if (!it->second) return std::nullopt;
  return leases_.at({name_space, *it->second}).row;
}

std::optional<LeaseRow> BufferedLeaseRows::LowestFree(const std::string& name_space,
                                                      uint64_t id_limit) {
  FreeRows& rows = free_[{name_space, id_limit}];
  const auto& space = namespaces_[name_space].row;
  if (!space || space->counts.free == 0) return std::nullopt;
  const auto is_free = [&](const FreePlace& place) {
    const auto& row = leases_.at({name_space, place.machine_id}).row;
    return row->state == LeaseState::kFree && row->free_floor == place.floor;
  };
  while (true) {
    while (!rows.read.empty() && !is_free(rows.read.front())) rows.read.pop_front();
    if (!rows.read.empty() || rows.complete) break;
    ReadFreePage(name_space, id_limit, rows, kFreePage);
  }
  std::optional<std::pair<ClientTime, uint32_t>> lowest;
  if (!rows.read.empty()) lowest = {rows.read.front().floor, rows.read.front().machine_id};
  for (const auto& place : freed_[name_space]) {
    if (lowest && place >= *lowest) break;
    if (place.second >= id_limit) continue;
    lowest = place;
    break;
  }
  if (!lowest) return std::nullopt;
  return leases_.at({name_space, lowest->second}).row;
}

std::optional<LeaseRow> BufferedLeaseRows::LockHeld(const LeaseRow& row, bool wait) {
  const LeaseKey key{row.name_space, row.machine_id};
  const LeaseEntry* entry = Find(row.name_space, row.machine_id);
  if (entry != nullptr && (entry->locked || entry->change != Change::kNone)) return entry->row;
  auto rows = statements_->Leases({&key, 1}, wait ? RowLock::kWait : RowLock::kSkip);
  if (rows.empty()) return std::nullopt;
  Keep(std::move(rows), /*locked=*/true);
  return leases_.at(key).row;
}

void BufferedLeaseRows::Put(const LeaseRow& row) {
  LeaseEntry& entry = leases_[{row.name_space, row.machine_id}];
  auto& freed = freed_[row.name_space];
  if (entry.row && entry.row->free_floor) freed.erase({*entry.row->free_floor, row.machine_id});
  if (entry.row && entry.row->instance_id) {
    instances_[{row.name_space, *entry.row->instance_id}] = std::nullopt;
  }
  entry.row = row;
  entry.change = Change::kAll;
  if (row.instance_id) instances_[{row.name_space, *row.instance_id}] = row.machine_id;
  if (row.free_floor) freed.insert({*row.free_floor, row.machine_id});
}

void BufferedLeaseRows::PutRenewal(const LeaseRow& row) {
  LeaseEntry& entry = leases_[{row.name_space, row.machine_id}];
  entry.row = row;
  if (entry.change == Change::kNone) entry.change = Change::kRenewal;
}

// ---- expiry ----

ExpiryBlocks& BufferedLeaseRows::Blocks(const std::string& name_space) {
  return blocks_.try_emplace(name_space, statements_, name_space).first->second;
}

std::vector<ExpiryBlock> BufferedLeaseRows::BlocksDue(const std::string& name_space,
                                                      StoreTime until, uint64_t id_limit,
                                                      const std::optional<ExpiryBlock>& after,
                                                      int limit) {
  return Blocks(name_space).Due(until, id_limit, after, limit);
}

std::vector<LeaseRow> BufferedLeaseRows::ExpirableInBlock(const std::string& name_space,
                                                          uint32_t block) {
  const BlockKey key{name_space, block};
  if (scanned_blocks_.insert(key).second) {
    // A renewal under a store clock that went back lowers the bound: with the block locked
    // either this scan sees that renewal, or the renewal sees the bound that follows.
    if (!read_only_) statements_->LockBlock(key);
    Keep(statements_->ExpirableLeases(key), /*locked=*/false);
  }
  std::vector<LeaseRow> rows;
  const uint32_t first = block * kExpiryBlockSize;
  for (auto it = leases_.lower_bound({name_space, first});
       it != leases_.end() && it->first.name_space == name_space &&
       it->first.machine_id - first < kExpiryBlockSize;
       ++it) {
    const auto& row = it->second.row;
    if (row && IsExpirable(*row)) rows.push_back(*row);
  }
  return rows;
}

void BufferedLeaseRows::SetBlockBound(const std::string& name_space, uint32_t block,
                                      std::optional<StoreTime> bound) {
  Blocks(name_space).Set(block, bound);
}

void BufferedLeaseRows::LowerBlockBound(const std::string& name_space, uint32_t block,
                                        StoreTime bound) {
  Blocks(name_space).Lower(block, bound);
}

// ---- history ----

void BufferedLeaseRows::AddGrant(const std::string& name_space, uint32_t machine_id,
                                 const GrantRow& grant, int keep) {
  new_grants_.push_back({{name_space, machine_id}, grant});
  grants_kept_ = keep;
}

void BufferedLeaseRows::EndGrant(const std::string& name_space, uint32_t machine_id, uint64_t token,
                                 StoreTime ended_at, std::optional<ClientTime> window_end,
                                 EndCause cause, bool unclean) {
  const LeaseKey key{name_space, machine_id};
  // A grant of the same batch is not in the database yet.
  for (NewGrant& added : new_grants_) {
    if (added.lease != key || added.grant.token != token) continue;
    added.grant.ended_at = ended_at;
    added.grant.window_end = window_end;
    added.grant.end_cause = cause;
    added.grant.ended_unclean = unclean;
    return;
  }
  grant_ends_.push_back({key, token, ended_at, window_end, cause, unclean});
}

std::optional<GrantRow> BufferedLeaseRows::FindGrant(const std::string& name_space,
                                                     uint32_t machine_id, uint64_t token) {
  for (GrantRow& grant : Grants(name_space, machine_id)) {
    if (grant.token == token) return std::move(grant);
  }
  return std::nullopt;
}

std::vector<GrantRow> BufferedLeaseRows::Grants(const std::string& name_space,
                                                uint32_t machine_id) {
  FlushGrants();
  return statements_->GrantsOf({name_space, machine_id});
}

// ---- writing ----

std::vector<LeaseRow> BufferedLeaseRows::Scan(const std::string& name_space,
                                              const LeaseFilter& filter, uint32_t from, int limit) {
  FlushLeases();
  return statements_->Scan(name_space, filter, from, limit);
}

void BufferedLeaseRows::DropLeases(const std::string& name_space) {
  Flush();
  ForgetLeases();
  statements_->DropLeases(name_space);
}

void BufferedLeaseRows::Settle() {
  Flush();
  ForgetLeases();
  namespaces_.clear();
}

void BufferedLeaseRows::ForgetLeases() {
  leases_.clear();
  instances_.clear();
  free_.clear();
  freed_.clear();
  blocks_.clear();
  scanned_blocks_.clear();
}

void BufferedLeaseRows::FlushLeases() {
  std::vector<LeaseRow> all;
  std::vector<LeaseRow> renewals;
  for (auto& [key, entry] : leases_) {
    if (entry.change == Change::kAll) all.push_back(*entry.row);
    if (entry.change == Change::kRenewal) renewals.push_back(*entry.row);
    // From here on the row is this transaction's own.
    entry.locked = entry.locked || entry.change != Change::kNone;
    entry.change = Change::kNone;
  }
  if (!all.empty()) statements_->PutLeases(all);
  if (!renewals.empty()) statements_->PutRenewals(renewals);
}

void BufferedLeaseRows::FlushGrants() {
  if (!grant_ends_.empty()) statements_->EndGrants(grant_ends_);
  if (!new_grants_.empty()) statements_->AddGrants(new_grants_, grants_kept_);
  grant_ends_.clear();
  new_grants_.clear();
}

void BufferedLeaseRows::Flush() {
  std::vector<NamespaceRow> changed;
  for (auto& [name, entry] : namespaces_) {
    if (entry.changed) changed.push_back(*entry.row);
    entry.changed = false;
  }
  if (!changed.empty()) statements_->PutNamespaces(changed);
  if (!made_namespaces_.empty()) statements_->DropNamespaces(ListOf(made_namespaces_));
  made_namespaces_.clear();
  FlushLeases();
  FlushGrants();
  for (auto& [name, blocks] : blocks_) blocks.Flush();
  if (!audit_.empty()) statements_->AddAudit(audit_);
  audit_.clear();
}

}  // namespace snowlease::storage
