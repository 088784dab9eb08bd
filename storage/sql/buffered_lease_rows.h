#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/sql/bulk_statements.h"
#include "storage/sql/expiry_blocks.h"

namespace snowlease::storage {

// The rows of one transaction on a database server, where a round trip costs more than
// the work: what a batch will ask for is read ahead in bulk, what it changes is kept in
// memory and written in bulk by Flush. One object serves one transaction.
//
// Locks are taken in one order everywhere: namespaces by name, then leases by key, then
// expiry blocks. Whoever changes a lease that is not HELD holds its namespace; a HELD one
// may be renewed by others at any time, so it is locked before it is decided on.
class BufferedLeaseRows final : public LeaseRows {
 public:
  explicit BufferedLeaseRows(BulkStatements* statements) : statements_(statements) {}

  // Each locks and reads ahead for a batch; at most one of them, first of all.
  void PrepareClaims(std::span<const ClaimSpec> specs);
  void PrepareGrants(std::span<const GrantKey> grants);
  // For renewals and raised watermarks, which change nothing of a namespace: without its lock.
  void PrepareRenewals(std::span<const GrantKey> grants);
  // `may_create`: a missing namespace is locked, too.
  void PrepareNamespace(const std::string& name, bool may_create);
  // Without locks, for the losers of a batch of renewals and for reads.
  void ReadOnly() { read_only_ = true; }
  // Reads the rows of the grants, and of their instances, in bulk; with ReadOnly.
  void ReadAhead(std::span<const GrantKey> grants);

  void Flush();

  std::optional<NamespaceRow> GetNamespace(const std::string& name) override;
  void PutNamespace(const NamespaceRow& row) override;
  // Locks them.
  std::vector<NamespaceRow> AllNamespaces(const std::string& after, int limit) override;

  std::optional<LeaseRow> Get(const std::string& name_space, uint32_t machine_id) override;
  std::optional<LeaseRow> FindInstance(const std::string& name_space,
                                       const std::string& instance_id) override;
  std::optional<LeaseRow> LowestFree(const std::string& name_space, uint64_t id_limit) override;
  std::optional<LeaseRow> LockHeld(const LeaseRow& row, bool wait) override;
  void Put(const LeaseRow& row) override;
  void PutRenewal(const LeaseRow& row) override;

  std::vector<ExpiryBlock> BlocksDue(const std::string& name_space, StoreTime until,
                                     uint64_t id_limit, const std::optional<ExpiryBlock>& after,
                                     int limit) override;
  std::vector<LeaseRow> ExpirableInBlock(const std::string& name_space, uint32_t block) override;
  void SetBlockBound(const std::string& name_space, uint32_t block,
                     std::optional<StoreTime> bound) override;
  void LowerBlockBound(const std::string& name_space, uint32_t block, StoreTime bound) override;

  void AddGrant(const std::string& name_space, uint32_t machine_id, const GrantRow& grant,
                int keep) override;
  void EndGrant(const std::string& name_space, uint32_t machine_id, uint64_t token,
                StoreTime ended_at, std::optional<ClientTime> window_end, EndCause cause,
                bool unclean) override;
  std::optional<GrantRow> FindGrant(const std::string& name_space, uint32_t machine_id,
                                    uint64_t token) override;
  std::vector<GrantRow> Grants(const std::string& name_space, uint32_t machine_id) override;

  void AddAudit(const AuditRow& row) override { audit_.push_back(row); }

  std::vector<LeaseRow> Scan(const std::string& name_space, const LeaseFilter& filter,
                             uint32_t from, int limit) override;
  void DropLeases(const std::string& name_space) override;
  void Settle() override;

 private:
  struct NamespaceEntry {
    std::optional<NamespaceRow> row;
    bool changed = false;
  };
  enum class Change { kNone, kRenewal, kAll };
  struct LeaseEntry {
    std::optional<LeaseRow> row;  // none: known not to exist
    bool locked = false;
    Change change = Change::kNone;
  };
  // FREE rows of a namespace below a limit, read in pages, and those freed since.
  struct FreeRows {
    std::deque<FreePlace> read;
    std::optional<FreePlace> read_until;
    bool complete = false;
  };

  void LockNamespaces(const std::set<std::string>& names, const std::set<std::string>& create);
  void LockLeases(std::span<const GrantKey> grants);
  void Keep(std::vector<LeaseRow> rows, bool locked);
  void ReadAheadNumbers(const std::string& name_space, size_t claims);
  void ReadAheadFree(const std::string& name_space, uint64_t id_limit, size_t claims);
  void ReadFreePage(const std::string& name_space, uint64_t id_limit, FreeRows& rows, int limit);
  const LeaseEntry* Find(const std::string& name_space, uint32_t machine_id) const;
  ExpiryBlocks& Blocks(const std::string& name_space);
  void FlushLeases();
  void ForgetLeases();
  void FlushGrants();

  BulkStatements* const statements_;
  bool read_only_ = false;
  std::map<std::string, NamespaceEntry> namespaces_;
  std::set<std::string> made_namespaces_;
  std::map<LeaseKey, LeaseEntry> leases_;
  std::map<InstanceKey, std::optional<uint32_t>> instances_;
  std::map<std::pair<std::string, uint64_t>, FreeRows> free_;
  std::map<std::string, std::set<std::pair<ClientTime, uint32_t>>> freed_;
  std::map<std::string, ExpiryBlocks> blocks_;
  std::set<BlockKey> scanned_blocks_;
  std::vector<NewGrant> new_grants_;
  std::vector<GrantEnd> grant_ends_;
  std::vector<AuditRow> audit_;
  int grants_kept_ = 0;
};

}  // namespace snowlease::storage
