#pragma once

#include <chrono>

#include <grpcpp/grpcpp.h>

namespace snowlease::client {

// That far from now on gRPC's monotonic clock, so that a step of the wall clock
// neither ends nor prolongs a call.
inline gpr_timespec DeadlineIn(std::chrono::milliseconds duration) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(duration.count(), GPR_TIMESPAN));
}

}  // namespace snowlease::client
