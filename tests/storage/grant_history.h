#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/lease.h"

// What many threads asked of one store and were answered, and the check that all of
// it could have happened one after the other.

namespace snowlease::testing {

// One call with its answer. `start` and `end` come from one counter, so that one call
// ended before another started exactly when its `end` is the smaller.
struct HistoryEvent {
  enum class Kind : uint8_t {
    kClaim,    // granted
    kUse,      // renewal or raise that succeeded
    kRelease,  // succeeded; unless `clean`, the last timestamp was not told
    kForce,    // succeeded
    kLost,     // renewal, raise or release that was answered MACHINE_ID_LOST
    kIssue,    // the holder, or who believes to be it, made an id with `timestamp`
  };
  Kind kind = Kind::kUse;
  std::string instance;
  storage::IncarnationId incarnation{};
  uint32_t machine_id = 0;
  uint64_t token = 0;
  int64_t start = 0;
  int64_t end = 0;
  storage::ClientTime floor;       // claims
  storage::ClientTime window_end;  // claims; renewals
  storage::ClientTime watermark;   // claims, uses
  storage::ClientTime timestamp;   // issues; uses: what was reported
  bool clean = false;              // releases
  bool with_proof = false;         // claims
};

// What contradicts docs/semantics.md in this history of one namespace, of which every
// answer is known and whose tokens start at 1; empty when some sequential order of
// the calls explains all answers:
// - tokens of a machine id are 1, 2, 3, ... and each is granted once (T1);
// - a grant begins within its claim and ends within a call that may end it, before
//   the next begins (H1); calls that succeeded lie inside it, LOST ones after it;
// - watermark and window end of a grant never go down (W2);
// - ids of two grants never meet, and an unclean end fences the whole window (W1).
std::vector<std::string> FindContradictions(std::span<const HistoryEvent> history);

}  // namespace snowlease::testing
