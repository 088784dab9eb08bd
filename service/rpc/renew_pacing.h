#pragma once

#include <chrono>
#include <optional>

#include "storage/lease.h"

namespace snowlease::service {

// When a holder should renew next: a fifth of its safe guard duration, up to twice
// that as `load` goes from 0 to 1, moved by `jitter` (-1..1) tenths, never above half
// the window. None when the lease never expires.
std::optional<std::chrono::nanoseconds> RenewAfter(const storage::LeaseRow& row, double load,
                                                   double jitter);

// Uniform in [-1, 1). Thread-safe.
double RandomJitter();

}  // namespace snowlease::service
