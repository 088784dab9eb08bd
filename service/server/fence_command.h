#pragma once

#include <optional>
#include <string>
#include <vector>

#include "service/config/config.h"

namespace snowlease::service {

// Takes --ahead out of the arguments; none, and a problem added, when it is missing or
// no duration above 0 and up to 30 days.
std::optional<storage::Millis> TakeAhead(std::vector<std::string>& arguments,
                                         std::vector<std::string>& problems);

// Fences the store while no server runs, and tells what it did: exit code 0, or 1 when
// nothing has happened.
int FenceStore(const Config& config, storage::Millis ahead);

}  // namespace snowlease::service
