#pragma once

#include <string>

#include "absl/status/status.h"

namespace snowlease::service {

// Logs what failed and why, a line for each field that is at fault; answers exit code 1.
int Fail(const std::string& what, const absl::Status& status);

}  // namespace snowlease::service
