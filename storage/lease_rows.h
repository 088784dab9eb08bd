#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "storage/lease.h"

namespace snowlease::storage {

// Thrown by LeaseRows when the store fails; caught at the backend's border, which
// undoes the transaction and answers `status` to the whole batch.
class StoreFailure : public std::runtime_error {
 public:
  explicit StoreFailure(absl::Status status)
      : std::runtime_error(status.ToString()), status_(std::move(status)) {}
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// Machine ids are looked at for expiry in blocks of this many.
inline constexpr uint32_t kExpiryBlockSize = 256;

// No lease of the block expires before `bound`.
struct ExpiryBlock {
  uint32_t block = 0;  // machine id / kExpiryBlockSize
  StoreTime bound;
};

// The rows of a store as one write transaction sees them; the seam between the
// operations, which decide, and a backend, which keeps. What one call writes the
// next one reads. Not thread-safe. Throws StoreFailure.
class LeaseRows {
 public:
  virtual ~LeaseRows() = default;

  // Namespaces; a tombstone is returned like any other.
  virtual std::optional<NamespaceRow> GetNamespace(const std::string& name) = 0;
  virtual void PutNamespace(const NamespaceRow& row) = 0;
  // By name after `after` (exclusive), tombstones too.
  virtual std::vector<NamespaceRow> AllNamespaces(const std::string& after, int limit) = 0;

  // Leases.
  virtual std::optional<LeaseRow> Get(const std::string& name_space, uint32_t machine_id) = 0;
  // The row of an instance: HELD or KEPT; there is one at most.
  virtual std::optional<LeaseRow> FindInstance(const std::string& name_space,
                                               const std::string& instance_id) = 0;
  // The FREE row with machine id < id_limit and the lowest free floor, then the
  // lowest machine id.
  virtual std::optional<LeaseRow> LowestFree(const std::string& name_space, uint64_t id_limit) = 0;
  // The HELD row as it stands now that nobody else can change it before the transaction
  // ends. None: another transaction holds it (only without `wait`), or it is gone.
  virtual std::optional<LeaseRow> LockHeld(const LeaseRow& row, bool wait) {
    static_cast<void>(wait);  // one writer at a time holds everything
    return Get(row.name_space, row.machine_id);
  }
  virtual void Put(const LeaseRow& row) = 0;
  // As Put for a HELD row of which only used, window end, watermark and renewal
  // time have changed; never touches an index.
  virtual void PutRenewal(const LeaseRow& row) = 0;

  // Expiry blocks with bound <= until and first machine id < id_limit, in the order
  // (bound, block), after `after` when given; at most `limit`.
  virtual std::vector<ExpiryBlock> BlocksDue(const std::string& name_space, StoreTime until,
                                             uint64_t id_limit,
                                             const std::optional<ExpiryBlock>& after,
                                             int limit) = 0;
  // HELD rows of the block that can expire (safe guard > 0, not stable).
  virtual std::vector<LeaseRow> ExpirableInBlock(const std::string& name_space, uint32_t block) = 0;
  // Sets the bound of a block; none: nothing in it can expire.
  virtual void SetBlockBound(const std::string& name_space, uint32_t block,
                             std::optional<StoreTime> bound) = 0;
  // Lowers the bound of a block to at most `bound`.
  virtual void LowerBlockBound(const std::string& name_space, uint32_t block, StoreTime bound) = 0;

  // History.
  // Adds a grant and forgets all but the newest `keep` of the machine id.
  virtual void AddGrant(const std::string& name_space, uint32_t machine_id, const GrantRow& grant,
                        int keep) = 0;
  // Records the end of the grant with this token, where it is still known.
  virtual void EndGrant(const std::string& name_space, uint32_t machine_id, uint64_t token,
                        StoreTime ended_at, std::optional<ClientTime> window_end, EndCause cause,
                        bool unclean) = 0;
  virtual std::optional<GrantRow> FindGrant(const std::string& name_space, uint32_t machine_id,
                                            uint64_t token) = 0;
  // All known grants of the machine id, newest first.
  virtual std::vector<GrantRow> Grants(const std::string& name_space, uint32_t machine_id) = 0;

  virtual void AddAudit(const AuditRow& row) = 0;

  // All rows of a namespace, for operators; in machine id order from `from`.
  virtual std::vector<LeaseRow> Scan(const std::string& name_space, const LeaseFilter& filter,
                                     uint32_t from, int limit) = 0;
  // Forgets leases, blocks and history of a namespace, not its own row.
  virtual void DropLeases(const std::string& name_space) = 0;
  // What goes through all rows calls it from time to time: nothing that was read or
  // written before has to stay in memory.
  virtual void Settle() {}
};

}  // namespace snowlease::storage
