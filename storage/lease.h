#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/time_point.h"

// The records of the store. The words are those of docs/semantics.md.

namespace snowlease::storage {

inline constexpr int kMaxMachineBits = 30;

using IncarnationId = std::array<uint8_t, 16>;
// What Fence adds to every token: more than the grants that a restored store has forgotten.
inline constexpr uint64_t kFenceTokens = 1'000'000;

using Metadata = std::map<std::string, std::string>;

enum class LeaseState : uint8_t { kFree = 1, kHeld = 2, kKept = 3, kReserved = 4 };
enum class LeaseSource : uint8_t { kNone = 0, kOwn = 1, kReleased = 2, kNew = 3, kExpired = 4 };
enum class ComebackMode : uint8_t { kDefault = 0, kMove = 1, kKeep = 2, kTrustClock = 3 };

// How a grant ended. kNone: it has not.
enum class EndCause : uint8_t {
  kNone = 0,
  kSuperseded = 1,
  kTakenOver = 2,
  kReleased = 3,
  kRevoked = 4,
  kUnknown = 5,
};

// One machine id. "The grant" is the present one, or the last one when not HELD.
struct LeaseRow {
  std::string name_space;
  uint32_t machine_id = 0;
  LeaseState state = LeaseState::kFree;
  std::optional<std::string> instance_id;  // none when FREE or RESERVED
  IncarnationId incarnation_id{};
  uint64_t token = 0;  // +1 at every grant of this machine id, see also kFenceTokens
  LeaseSource source = LeaseSource::kNone;
  bool stable = false;
  Millis safe_guard{0};                  // 0: never expires
  Millis window{0};                      // window length of the grant; 0 when it never expires
  ClientTime floor;                      // of the grant
  bool used = false;                     // renewed or raised since the grant
  std::optional<ClientTime> window_end;  // none: no end (safe guard 0), or never granted
  ClientTime watermark;                  // highest timestamp known to be issued
  ClientTime fence;                      // end of the latest window that did not end cleanly
  StoreTime claimed_at;
  StoreTime renewed_at;
  std::optional<ClientTime> free_floor;  // floor of the next grant; set while FREE only
  uint64_t ended_token = 0;              // token of the last grant that ended
  EndCause end_cause = EndCause::kNone;  // how it ended
};

// What a namespace prescribes to claims.
struct NamespacePolicy {
  std::optional<Millis> pinned_safe_guard;
  bool allow_trust_clock = false;
  std::optional<uint64_t> lease_cap;  // most HELD and KEPT rows
};

// Rows by state; kept up to date by every change of state, so that reading them
// costs the same for any size.
struct LeaseCounts {
  uint64_t free = 0;
  uint64_t held = 0;
  uint64_t kept = 0;
  uint64_t reserved = 0;
};

struct NamespaceRow {
  std::string name;
  int machine_bits = 0;
  uint32_t next_machine_id = 0;  // lowest number never used; existing rows are skipped
  NamespacePolicy policy;
  ClientTime base_floor;    // from a tombstone: new rows start above it
  uint64_t base_token = 0;  // from a tombstone: new rows count on from it
  StoreTime created_at;
  bool deleted = false;  // a tombstone: only the base counts
  LeaseCounts counts;
};

// One grant, present or past; bounded per machine id.
struct GrantRow {
  uint64_t token = 0;
  std::string instance_id;
  IncarnationId incarnation_id{};
  LeaseSource source = LeaseSource::kNone;
  StoreTime granted_at;
  ClientTime floor;
  Metadata metadata;
  std::optional<StoreTime> ended_at;     // none: still held
  std::optional<ClientTime> window_end;  // none: no end, or (while held) see the lease row
  EndCause end_cause = EndCause::kNone;
  bool ended_unclean = false;
};

struct AuditRow {
  StoreTime at;
  std::string actor;
  std::string action;  // the RPC's name
  std::string name_space;
  std::optional<uint32_t> machine_id;
  std::string reason;
  std::string detail;
};

// ---- what callers ask for ----

struct Proof {
  IncarnationId incarnation_id{};
  ClientTime reserved_until;
};

struct ClaimSpec {
  std::string name_space;
  std::string instance_id;
  IncarnationId incarnation_id{};
  int machine_bits = 10;
  bool stable = false;
  Millis safe_guard{300'000};    // 0: never expires
  std::optional<Millis> window;  // none: safe guard less margin
  ClientTime client_time;
  Millis waited{0};  // spent in this server before the store was asked
  Millis max_wait{0};
  ComebackMode comeback = ComebackMode::kDefault;
  std::optional<Proof> proof;
  Metadata metadata;
  bool may_create_namespace = true;
};

// Names one grant.
struct GrantKey {
  std::string name_space;
  uint32_t machine_id = 0;
  std::string instance_id;
  uint64_t token = 0;

  friend bool operator==(const GrantKey&, const GrantKey&) = default;
};

struct RenewSpec {
  GrantKey grant;
  ClientTime last_timestamp;  // 0: nothing issued
  ClientTime client_time;
};

struct ReleaseSpec {
  GrantKey grant;
  std::optional<ClientTime> last_timestamp;  // none: unknown; 0: nothing issued
  bool abandon = false;
};

struct RaiseSpec {
  GrantKey grant;
  ClientTime raise_to;
};

// ---- what they get ----

// A lease as it stands in the store after the call.
struct Lease {
  LeaseRow row;
  StoreTime store_time;
  std::optional<StoreTime> expires_at;  // none: never
  bool superseded_live_lease = false;
  bool clock_trusted = false;
  bool client_clock_ahead = false;      // the window was shortened by max_clock_ahead
  std::optional<Millis> since_renewal;  // of a renewal: since the one before, or the grant
};

struct WatermarkReading {
  ClientTime watermark;
  StoreTime store_time;
};

// What GetNamespace adds to the row by looking at leases.
struct NamespaceDetail {
  NamespaceRow row;
  uint64_t expired = 0;
  uint64_t free_ahead = 0;  // FREE with a floor ahead of the reference clock
  std::optional<StoreTime> next_expiry;
};

struct LeaseDetail {
  LeaseRow row;
  Metadata metadata;
  StoreTime store_time;
};

struct LeaseHistory {
  LeaseDetail lease;
  std::vector<GrantRow> grants;  // newest first
};

struct LeaseFilter {
  std::optional<LeaseState> state;
  std::string instance_prefix;
};

// ---- what operators ask for ----

struct AdminContext {
  std::string actor;
  std::string reason;
};

struct NamespaceUpdate {
  std::string name;
  std::optional<int> machine_bits;
  std::optional<std::optional<Millis>> pinned_safe_guard;  // outer: change it
  std::optional<bool> allow_trust_clock;
  std::optional<std::optional<uint64_t>> lease_cap;  // outer: change it
  bool allow_missing = false;
};

// What Fence did.
struct FenceSummary {
  uint64_t namespaces = 0;  // tombstones included
  uint64_t leases = 0;
  uint64_t ended = 0;  // of them were held
  ClientTime floor;    // no later grant issues up to it
};

struct ForceReleaseSpec {
  std::string name_space;
  uint32_t machine_id = 0;
  uint64_t expected_token = 0;
  std::optional<Millis> quarantine;  // of a lease that never expires; none: the server's
};

}  // namespace snowlease::storage
