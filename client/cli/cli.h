#pragma once

#include <string>
#include <vector>

#include "client/cli/console.h"

namespace snowlease::cli {

// Runs one command line (without the program's name); returns the exit code.
int RunCli(const std::vector<std::string>& arguments, Console& console);

}  // namespace snowlease::cli
