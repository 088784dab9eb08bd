#pragma once

#include <string>
#include <vector>

#include "storage/postgres/session.h"
#include "storage/sql/bulk_statements.h"

namespace snowlease::storage {

// Names of the tables, with their schema, and how to read the store clock.
struct PostgresNames {
  PostgresNames(const std::string& quoted_schema, std::string clock_sql);

  std::string name_space;
  std::string lease;
  std::string block;
  std::string grant;
  std::string audit;
  std::string schema;
  std::string clock;  // an expression: milliseconds
};

// Rows that one statement takes at most: with more a plan may turn to scanning the table.
inline constexpr size_t kMostRowsPerStatement = 1024;

// The columns of a lease in the order in which TakeLease reads them, each of table `l`.
extern const char kPostgresLeaseColumns[];
LeaseRow TakeLease(RowReader& reader);

// The statements of one transaction on PostgreSQL: whole batches as arrays, rows locked in
// the order of their keys.
class PostgresBulkStatements final : public BulkStatements {
 public:
  // `scan`: how the rows of Scan are locked. A transaction that decides on them must hold
  // them (kWait): a renewal may be under way on any of them.
  PostgresBulkStatements(Session* session, const PostgresNames* names, RowLock scan)
      : session_(session), names_(names), scan_(scan) {}

  StoreTime Clock();

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

 private:
  std::vector<NamespaceRow> NamespacesWhere(std::span<const std::string> names,
                                            const std::string& lock);
  std::vector<LeaseRow> LeasesWhere(const std::string& rest,
                                    const std::vector<std::string>& parameters);
  void ClearInstancesThatMove(std::span<const LeaseRow> rows);
  void UpsertBounds(std::span<const BlockBound> bounds, const std::string& condition);

  Session* const session_;
  const PostgresNames* const names_;
  const RowLock scan_;
};

}  // namespace snowlease::storage
