#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/lease_rows.h"

namespace snowlease::storage {

// Lease rows in ordered maps: what the SQL tables and their indexes are, without the
// database. Not thread-safe.
class MemoryLeaseRows final : public LeaseRows {
 public:
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

  void AddAudit(const AuditRow& row) override { audit_.push_back(row); }

  std::vector<LeaseRow> Scan(const std::string& name_space, const LeaseFilter& filter,
                             uint32_t from, int limit) override;
  void DropLeases(const std::string& name_space) override;

  // Live namespaces by name after `after`.
  std::vector<NamespaceRow> Namespaces(const std::string& after, int limit) const;
  // Newest first.
  std::vector<AuditRow> Audit(const std::string& name_space, int limit) const;

 private:
  struct Space {
    std::map<uint32_t, LeaseRow> leases;
    std::map<std::string, uint32_t> by_instance;
    std::set<std::pair<ClientTime, uint32_t>> free;
    std::map<uint32_t, StoreTime> bounds;
    std::set<std::pair<StoreTime, uint32_t>> by_bound;
    std::map<uint32_t, std::deque<GrantRow>> grants;  // oldest first
  };

  // Null where nothing was written under the name.
  const Space* Find(const std::string& name_space) const;
  GrantRow* FindGrantRow(const std::string& name_space, uint32_t machine_id, uint64_t token);

  std::map<std::string, NamespaceRow> namespaces_;
  std::map<std::string, Space> spaces_;
  std::vector<AuditRow> audit_;
};

}  // namespace snowlease::storage
