#pragma once

#include "service/batching/group_commit_events.h"

namespace snowlease::service {

// How fast one worker serves, and from that how long a refused caller should stay away:
// about the time in which what waits, and those refused before it, could be served.
class ServicePace {
 public:
  static constexpr storage::Millis kMinPushback{20};
  static constexpr storage::Millis kMaxPushback{1000};

  void BatchStarted(SteadyTime now, size_t calls);
  void BatchEnded(SteadyTime now, bool nothing_waits);

  // How long a batch takes lately; a batch under way counts when it is slower.
  SteadyTime::duration BatchDuration(SteadyTime now) const;
  // When a batch would begin before which `batches` others are to come, at the soonest.
  SteadyTime BeginAfter(SteadyTime now, size_t batches) const;
  // `waiting` calls are before the refused one; `random` spreads the answers.
  storage::Millis Refuse(SteadyTime now, size_t waiting, size_t max_batch, uint64_t random);

 private:
  bool under_way_ = false;
  SteadyTime started_;
  size_t calls_ = 0;
  size_t refused_ = 0;  // less those for whom there has been time since
  SteadyTime::duration usual_{0};
};

}  // namespace snowlease::service
