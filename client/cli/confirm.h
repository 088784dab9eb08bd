#pragma once

#include <string>

#include "client/cli/console.h"

namespace snowlease::cli {

// Whether the user wants `what`: told by --yes, else asked on a terminal. Without
// a terminal a usage error; kExitOk: go on.
int Confirm(Console& console, bool yes, const std::string& what);

}  // namespace snowlease::cli
