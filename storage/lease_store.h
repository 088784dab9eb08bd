#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/clock.h"
#include "storage/lease.h"

namespace snowlease::storage {

template <typename T>
using BatchResult = std::vector<absl::StatusOr<T>>;

struct CallOptions {
  // When the last caller of the batch stops waiting; the store may give up then.
  SteadyTime deadline = SteadyTime::max();
};

enum class MigrateMode { kAuto, kCheck, kOff };

struct Capabilities {
  std::string backend;       // "memory", "sqlite", ...
  std::string clock_source;  // where the store clock is read
  bool durable = false;      // acknowledged changes survive a crash of the host
  bool transactional = false;
  int max_machine_bits = kMaxMachineBits;
  int connections = 1;  // how many calls it can serve at the same time
};

// What a store must be told of the server it serves.
struct StoreOptions {
  Millis max_clock_ahead{60'000};     // a client may be this far ahead of the reference clock
  Millis quarantine{24 * 3'600'000};  // rest of a lease without end after an unclean end
  int grants_kept = 16;               // history per machine id
};

// Keeps leases. Batch first: the elements of a batch are independent of each other,
// are decided in order, and share one transaction where the store has them; the
// answer has one element per request, in order. What it acknowledges is durable.
//
// Calls block. Thread-safe; `Capabilities().connections` of them run at a time, the
// others wait. Errors are those of storage/errors.h; STORE_UNAVAILABLE and
// STORE_TIMEOUT may be in doubt, so every operation can be repeated with the same
// arguments; ReserveIds and UnreserveIds then answer NAMESPACE_POLICY for what is done, so
// that no two operators believe that one id is theirs.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  virtual BatchResult<Lease> Claim(std::span<const ClaimSpec> specs,
                                   const CallOptions& options) = 0;
  virtual BatchResult<Lease> Renew(std::span<const RenewSpec> specs,
                                   const CallOptions& options) = 0;
  virtual std::vector<absl::Status> Release(std::span<const ReleaseSpec> specs,
                                            const CallOptions& options) = 0;
  virtual BatchResult<WatermarkReading> RaiseWatermark(std::span<const RaiseSpec> specs,
                                                       const CallOptions& options) = 0;

  virtual absl::StatusOr<WatermarkReading> GetWatermark(const std::string& name_space,
                                                        uint32_t machine_id) = 0;
  // Namespaces by name after `after` (exclusive), tombstones left out.
  virtual absl::StatusOr<std::vector<NamespaceRow>> ListNamespaces(const std::string& after,
                                                                   int limit) = 0;
  virtual absl::StatusOr<NamespaceDetail> GetNamespace(const std::string& name) = 0;
  // Machine ids in order, from `from` (inclusive).
  virtual absl::StatusOr<std::vector<LeaseDetail>> ListLeases(const std::string& name_space,
                                                              const LeaseFilter& filter,
                                                              uint32_t from, int limit) = 0;
  virtual absl::StatusOr<LeaseHistory> GetLease(const std::string& name_space,
                                                uint32_t machine_id) = 0;
  // The grants whose (floor, window end] covers the timestamp, newest first.
  virtual absl::StatusOr<std::vector<GrantRow>> FindOwner(const std::string& name_space,
                                                          uint32_t machine_id,
                                                          ClientTime timestamp) = 0;
  // The last audit rows, newest first.
  virtual absl::StatusOr<std::vector<AuditRow>> ListAudit(const std::string& name_space,
                                                          int limit) = 0;

  virtual absl::StatusOr<NamespaceRow> UpdateNamespace(const NamespaceUpdate& update,
                                                       const AdminContext& context) = 0;
  virtual absl::Status DeleteNamespace(const std::string& name, const AdminContext& context) = 0;
  // Answers the floor of the next grant.
  virtual absl::StatusOr<ClientTime> ForceRelease(const ForceReleaseSpec& spec,
                                                  const AdminContext& context) = 0;
  virtual absl::Status ReserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                                  const AdminContext& context) = 0;
  virtual absl::Status UnreserveIds(const std::string& name_space, std::span<const uint32_t> ids,
                                    std::optional<ClientTime> floor,
                                    const AdminContext& context) = 0;
  // For a restored backup, while no server runs: all grants end, and all that follow
  // start above reference clock + `ahead`; see storage/fence.h.
  virtual absl::StatusOr<FenceSummary> Fence(Millis ahead, const AdminContext& context) = 0;

  // Brings the schema to this version (kAuto) or tells why it does not fit.
  virtual absl::Status Migrate(MigrateMode mode) = 0;
  // Reads the store clock: the cheapest proof that the store answers.
  virtual absl::StatusOr<StoreTime> Ping() = 0;
  virtual Capabilities GetCapabilities() const = 0;
  // Identity of the store, made with its schema; empty before Migrate succeeded.
  virtual std::string StoreId() const = 0;
  virtual int SchemaVersion() const = 0;
};

}  // namespace snowlease::storage
