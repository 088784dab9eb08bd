#pragma once

#include <string>

#include "storage/clock.h"

namespace snowlease::service {

// What a handler knows of the call besides its request.
struct CallContext {
  storage::SteadyTime deadline;  // when the caller stops waiting
  std::string principal;         // who calls; empty: anonymous
};

}  // namespace snowlease::service
