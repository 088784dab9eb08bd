#pragma once

#include "service/batching/group_commit_events.h"
#include "service/batching/service_pace.h"
#include "service/batching/waiting_calls.h"

namespace snowlease::service {

struct CoreOptions {
  size_t max_batch = 512;               // elements of a store call
  size_t max_queue = 8192;              // calls that wait
  storage::Millis max_queue_age{1000};  // how long a call may wait before others are refused
  int workers = 1;
  uint64_t seed = 1;  // of the jitter and of the choice of worker
};

// Decides which calls go to the store together. A call that finds its worker idle goes
// at once; those that come while it works go as the next batch. Renewals get every second
// batch while any wait, the other kinds share the rest; inside a kind the namespaces take
// turns. Bounded by count and by age; see docs/adr/0002-natural-group-commit.md.
//
// A pure state machine: no threads, locks, I/O or clock. `now` comes from outside.
class GroupCommitterCore {
 public:
  explicit GroupCommitterCore(const CoreOptions& options);

  // Appends what is to be done to `actions`, which come in empty.
  void Step(SteadyTime now, const Event& event, Actions* actions);

  size_t waiting() const { return waiting_.size(); }
  bool draining() const { return draining_; }

 private:
  struct Worker {
    bool busy = false;
    CallKind last = CallKind::kRaise;        // kind of its last batch
    CallKind last_other = CallKind::kRaise;  // the same, renewals left out
    ServicePace pace;
  };

  void OnArrival(SteadyTime now, const CallArrived& call, Actions* actions);
  std::optional<RejectReason> WhyNot(SteadyTime now, const CallArrived& call,
                                     const WaitingCalls::Place& place) const;
  void DispatchNext(int index, SteadyTime now, Actions* actions);
  std::optional<CallKind> NextKind(int index) const;
  uint64_t NextRandom();

  const CoreOptions options_;
  bool draining_ = false;
  uint64_t random_state_;
  WaitingCalls waiting_;
  std::vector<Worker> workers_;
};

}  // namespace snowlease::service
