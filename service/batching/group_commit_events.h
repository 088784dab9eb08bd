#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/time_point.h"

// What GroupCommitterCore is told and what it answers.

namespace snowlease::service {

enum class CallKind : uint8_t { kRenew, kClaim, kRelease, kRaise };
inline constexpr int kCallKinds = 4;

using CallId = uint64_t;  // chosen by the caller of the core, unique among calls not yet answered
using SteadyTime = std::chrono::steady_clock::time_point;

// What a call is about; two waiting calls that are equal in it may share one
// element of a batch. The views are read during Step only.
struct CallKey {
  std::string_view name_space{};
  std::string_view instance_id{};
  uint32_t machine_id = 0;                     // not for claims
  uint64_t token = 0;                          // not for claims
  std::array<uint8_t, 16> incarnation_id{};    // claims only
  std::optional<int64_t> last_timestamp_ms{};  // releases only
  bool abandon = false;                        // releases only
};

struct CallArrived {
  CallId call = 0;
  CallKind kind = CallKind::kRenew;
  CallKey key;
  SteadyTime deadline = SteadyTime::max();
};
// The worker has answered the batch that it was given last.
struct BatchDone {
  int worker = 0;
};
struct DrainStarted {};
// Time has passed: calls whose deadline is over are dropped. Nothing depends on it
// but how soon they are told.
struct Tick {};
using Event = std::variant<CallArrived, BatchDone, DrainStarted, Tick>;

enum class RejectReason : uint8_t {
  kQueueFull,        // too many calls wait
  kQueueOld,         // calls wait too long already
  kDeadlineTooNear,  // it would not be answered before its deadline
  kDraining,
};

struct Rejection {
  CallId call = 0;
  RejectReason reason = RejectReason::kDraining;
  storage::Millis pushback{0};  // how long the caller should stay away; 0 when draining
};

// One store call. Group g is calls[group_ends[g - 1] .. group_ends[g]), in order of
// arrival: equal calls that share one element and one answer.
struct Batch {
  int worker = 0;
  CallKind kind = CallKind::kRenew;
  std::vector<CallId> calls;
  std::vector<uint32_t> group_ends;
  SteadyTime deadline = SteadyTime::min();  // the latest of its calls
};

// What a step wants done.
struct Actions {
  std::optional<Batch> batch;          // give it to its worker, which is idle
  std::optional<Rejection> rejection;  // of the call that arrived
  std::vector<CallId> expired;         // answer them: their deadline passed in the queue
};

}  // namespace snowlease::service
