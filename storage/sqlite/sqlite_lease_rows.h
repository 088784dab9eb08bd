#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/lease_rows.h"
#include "storage/sqlite/connection.h"

namespace snowlease::storage {

// The rows of one SQLite connection; all calls of a transaction stand between Begin and
// Flush (or Forget). Namespace rows are kept in memory for the transaction and written
// by Flush, since a batch of claims changes one of them with each element.
class SqliteLeaseRows final : public LeaseRows {
 public:
  explicit SqliteLeaseRows(Connection* connection);

  // Forgets what the transaction before has left in memory.
  void Begin() { namespaces_.clear(); }
  // Writes what is still in memory; to be called before the commit.
  void Flush();

  std::optional<NamespaceRow> GetNamespace(const std::string& name) override;
  void PutNamespace(const NamespaceRow& row) override;
  std::vector<NamespaceRow> AllNamespaces(const std::string& after, int limit) override;

  std::optional<LeaseRow> Get(const std::string& name_space, uint32_t machine_id) override;
  std::optional<LeaseRow> FindInstance(const std::string& name_space,
                                       const std::string& instance_id) override;
  std::optional<LeaseRow> LowestFree(const std::string& name_space, uint64_t id_limit) override;
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

  void AddAudit(const AuditRow& row) override;

  std::vector<LeaseRow> Scan(const std::string& name_space, const LeaseFilter& filter,
                             uint32_t from, int limit) override;
  void DropLeases(const std::string& name_space) override;

  // Beyond the seam, for the store's own reads; see LeaseStore.
  std::vector<NamespaceRow> Namespaces(const std::string& after, int limit);
  std::vector<AuditRow> Audit(const std::string& name_space, int limit);
  // Proves that the file answers.
  void Touch();

 private:
  struct CachedNamespace {
    std::optional<NamespaceRow> row;
    bool changed = false;
  };

  std::map<std::string, CachedNamespace> namespaces_;

  Statement get_namespace_, put_namespace_, list_namespaces_, all_namespaces_;
  Statement get_lease_, find_instance_, lowest_free_, insert_lease_, update_lease_, renew_lease_;
  Statement blocks_due_, expirable_, drop_block_, set_block_, lower_block_;
  Statement add_grant_, trim_grants_, end_grant_, find_grant_, grants_;
  Statement add_audit_, audit_;
  Statement scan_, drop_leases_, drop_blocks_, drop_grants_, touch_;
};

}  // namespace snowlease::storage
