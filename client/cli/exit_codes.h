#pragma once

#include "absl/status/status.h"

namespace snowlease::cli {

// What scripts branch on; told by --help.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitLost = 3;
inline constexpr int kExitTryAgain = 75;  // EX_TEMPFAIL of sysexits.h

// TryAgain for errors that the same command may not meet later.
int ExitCodeOf(const absl::Status& status);

}  // namespace snowlease::cli
