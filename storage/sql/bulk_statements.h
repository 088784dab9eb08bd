#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/lease_rows.h"

// What the SQL backends with a server of their own do for a whole batch in one statement
// each; the dialects differ, what is asked for does not.

namespace snowlease::storage {

struct LeaseKey {
  std::string name_space;
  uint32_t machine_id = 0;

  friend auto operator<=>(const LeaseKey&, const LeaseKey&) = default;
};

struct InstanceKey {
  std::string name_space;
  std::string instance_id;

  friend auto operator<=>(const InstanceKey&, const InstanceKey&) = default;
};

struct BlockKey {
  std::string name_space;
  uint32_t block = 0;

  friend auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

struct NewGrant {
  LeaseKey lease;
  GrantRow grant;
};

struct GrantEnd {
  LeaseKey lease;
  uint64_t token = 0;
  StoreTime ended_at;
  std::optional<ClientTime> window_end;
  EndCause cause = EndCause::kNone;
  bool unclean = false;
};

struct BlockBound {
  BlockKey block;
  StoreTime bound;
};

// Place of a FREE row in the order of grants.
struct FreePlace {
  ClientTime floor;
  uint32_t machine_id = 0;
};

enum class RowLock {
  kNone,
  kWait,  // FOR UPDATE, in the order of the keys
  kSkip,  // FOR UPDATE SKIP LOCKED: rows that others hold are left out
};

// Statements of one transaction on one connection. Spans may be empty; keys are sorted
// and distinct. Rows that do not exist are left out of answers. Throws StoreFailure.
class BulkStatements {
 public:
  virtual ~BulkStatements() = default;

  // Makes rows for the names that have none, as tombstones of nothing, so that they can
  // be locked; answers the names for which it did.
  virtual std::vector<std::string> MakeNamespaces(std::span<const std::string> names) = 0;
  virtual void DropNamespaces(std::span<const std::string> names) = 0;
  // Locks and reads.
  virtual std::vector<NamespaceRow> LockNamespaces(std::span<const std::string> names) = 0;
  // Reads without a lock; tombstones too.
  virtual std::vector<NamespaceRow> GetNamespaces(std::span<const std::string> names) = 0;
  virtual void PutNamespaces(std::span<const NamespaceRow> rows) = 0;
  virtual std::vector<NamespaceRow> ListNamespaces(const std::string& after, int limit) = 0;
  // Names after `after`, tombstones too.
  virtual std::vector<std::string> NamespaceNames(const std::string& after, int limit) = 0;

  virtual std::vector<LeaseRow> Leases(std::span<const LeaseKey> keys, RowLock lock) = 0;
  virtual std::vector<LeaseRow> LeasesOf(std::span<const InstanceKey> instances, RowLock lock) = 0;
  // FREE rows with machine id < id_limit in the order of grants, after `after`.
  virtual std::vector<LeaseRow> FreeLeases(const std::string& name_space, uint64_t id_limit,
                                           const std::optional<FreePlace>& after, int limit) = 0;
  virtual void PutLeases(std::span<const LeaseRow> rows) = 0;
  virtual void PutRenewals(std::span<const LeaseRow> rows) = 0;

  virtual std::vector<ExpiryBlock> BlocksAfter(const std::string& name_space,
                                               const std::optional<ExpiryBlock>& after,
                                               int limit) = 0;
  virtual std::optional<StoreTime> LockBlock(const BlockKey& block) = 0;
  virtual std::vector<LeaseRow> ExpirableLeases(const BlockKey& block) = 0;
  virtual void PutBounds(std::span<const BlockBound> bounds) = 0;
  virtual void LowerBounds(std::span<const BlockBound> bounds) = 0;
  virtual void DropBounds(std::span<const BlockKey> blocks) = 0;

  // Adds grants and forgets those of the same machine ids with token <= newest - keep,
  // but not those from before a fence, whose tokens are kFenceTokens away.
  virtual void AddGrants(std::span<const NewGrant> grants, int keep) = 0;
  virtual void EndGrants(std::span<const GrantEnd> ends) = 0;
  virtual std::vector<GrantRow> GrantsOf(const LeaseKey& lease) = 0;  // newest first

  virtual void AddAudit(std::span<const AuditRow> rows) = 0;
  virtual std::vector<AuditRow> Audit(const std::string& name_space, int limit) = 0;

  virtual std::vector<LeaseRow> Scan(const std::string& name_space, const LeaseFilter& filter,
                                     uint32_t from, int limit) = 0;
  virtual void DropLeases(const std::string& name_space) = 0;
};

}  // namespace snowlease::storage
