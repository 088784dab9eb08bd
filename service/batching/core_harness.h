#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "service/batching/group_committer_core.h"

namespace snowlease::service::testing {

inline std::array<uint8_t, 16> IncarnationOf(uint64_t number) {
  std::array<uint8_t, 16> id{};
  for (int i = 0; i < 8; ++i) id[i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

// Drives a core in virtual time, step by step. Call ids count from 1.
class CoreHarness {
 public:
  explicit CoreHarness(CoreOptions options) : core_(options) {}

  SteadyTime now() const { return now_; }
  void Advance(storage::Millis by) { now_ += by; }
  GroupCommitterCore& core() { return core_; }

  // What the last step wanted.
  const Actions& actions() const { return actions_; }
  const std::vector<CallId>& batch() const { return actions_.batch->calls; }
  bool refused() const { return actions_.rejection.has_value(); }

  CallId Renew(const std::string& name_space, uint32_t machine_id, uint64_t token = 1) {
    return Arrive(CallKind::kRenew, OfLease(name_space, machine_id, token));
  }
  CallId Raise(const std::string& name_space, uint32_t machine_id, uint64_t token = 1) {
    return Arrive(CallKind::kRaise, OfLease(name_space, machine_id, token));
  }
  CallId Release(const std::string& name_space, uint32_t machine_id, uint64_t token = 1,
                 std::optional<int64_t> last = 0) {
    CallKey key = OfLease(name_space, machine_id, token);
    key.last_timestamp_ms = last;
    return Arrive(CallKind::kRelease, key);
  }
  CallId Claim(const std::string& name_space, uint64_t incarnation,
               const std::string& instance = "i") {
    return Arrive(CallKind::kClaim, {.name_space = name_space,
                                     .instance_id = instance,
                                     .incarnation_id = IncarnationOf(incarnation)});
  }

  CallId Arrive(CallKind kind, const CallKey& key) {
    const SteadyTime deadline = patience_.count() > 0 ? now_ + patience_ : SteadyTime::max();
    Step(CallArrived{++last_id_, kind, key, deadline});
    return last_id_;
  }
  // The deadline of later calls; 0: none.
  void SetPatience(storage::Millis patience) { patience_ = patience; }

  // Ends the worker's batch; the next one, if any, is in batch().
  const Actions& Done(int worker = 0) { return Step(BatchDone{worker}); }

  const Actions& Step(const Event& event) {
    actions_ = Actions();
    core_.Step(now_, event, &actions_);
    return actions_;
  }

 private:
  static CallKey OfLease(const std::string& name_space, uint32_t machine_id, uint64_t token) {
    return {.name_space = name_space, .instance_id = "i", .machine_id = machine_id, .token = token};
  }

  GroupCommitterCore core_;
  SteadyTime now_{std::chrono::hours(1)};
  storage::Millis patience_{0};
  CallId last_id_ = 0;
  Actions actions_;
};

}  // namespace snowlease::service::testing
