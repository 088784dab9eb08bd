#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "storage/sql/bulk_statements.h"

namespace snowlease::storage {

// For tests: bulk statements over maps, which count what a server would be asked.
class MemoryBulkStatements final : public BulkStatements {
 public:
  std::vector<std::string> MakeNamespaces(std::span<const std::string> names) override;
  void DropNamespaces(std::span<const std::string> names) override;
  std::vector<NamespaceRow> LockNamespaces(std::span<const std::string> names) override;
  std::vector<NamespaceRow> GetNamespaces(std::span<const std::string> names) override;
  void PutNamespaces(std::span<const NamespaceRow> rows) override;
  std::vector<NamespaceRow> ListNamespaces(const std::string& after, int limit) override;
  std::vector<std::string> NamespaceNames(const std::string& after, int limit) override;

  std::vector<LeaseRow> Leases(std::span<const LeaseKey> keys, RowLock lock) override;
  std::vector<LeaseRow> LeasesOf(std::span<const InstanceKey> instances, RowLock lock) override;
  std::vector<LeaseRow> FreeLeases(const std::string& name_space, uint64_t id_limit,
                                   const std::optional<FreePlace>& after, int limit) override;
  void PutLeases(std::span<const LeaseRow> rows) override;
  void PutRenewals(std::span<const LeaseRow> rows) override;

  std::vector<ExpiryBlock> BlocksAfter(const std::string& name_space,
                                       const std::optional<ExpiryBlock>& after, int limit) override;
  std::optional<StoreTime> LockBlock(const BlockKey& block) override;
  std::vector<LeaseRow> ExpirableLeases(const BlockKey& block) override;
  void PutBounds(std::span<const BlockBound> bounds) override;
  void LowerBounds(std::span<const BlockBound> bounds) override;
  void DropBounds(std::span<const BlockKey> blocks) override;

  void AddGrants(std::span<const NewGrant> grants, int keep) override;
  void EndGrants(std::span<const GrantEnd> ends) override;
  std::vector<GrantRow> GrantsOf(const LeaseKey& lease) override;

  void AddAudit(std::span<const AuditRow> rows) override;
  std::vector<AuditRow> Audit(const std::string& name_space, int limit) override;

  std::vector<LeaseRow> Scan(const std::string& name_space, const LeaseFilter& filter,
                             uint32_t from, int limit) override;
  void DropLeases(const std::string& name_space) override;

  // What it holds.
  std::map<std::string, NamespaceRow> namespaces;
  std::map<LeaseKey, LeaseRow> leases;
  std::map<BlockKey, StoreTime> bounds;
  std::map<std::pair<LeaseKey, uint64_t>, GrantRow> grants;
  std::vector<AuditRow> audit;
  std::set<LeaseKey> held_by_others;  // rows that another transaction has locked
  int statements = 0;
};

}  // namespace snowlease::storage
