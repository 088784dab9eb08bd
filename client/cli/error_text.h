#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/cli/console.h"

namespace snowlease::cli {

// "REASON: what happened", and below it the fields that were refused and what to do.
std::string DescribeError(const absl::Status& status, const std::string& server);

// Tells the error on `err`; returns its exit code.
int Fail(Console& console, const absl::Status& status, const std::string& server);
// The same for a mistake in the arguments: exit code 2.
int FailUsage(Console& console, const std::string& problem);

}  // namespace snowlease::cli
