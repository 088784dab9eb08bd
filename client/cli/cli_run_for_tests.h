#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "client/cli/cli.h"

namespace snowlease::cli {

// What a command line did, for tests.
struct CliRun {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline CliRun RunWith(const std::vector<std::string>& arguments, const std::string& input = "",
                      bool terminal = false) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Console console{.in = in,
                  .out = out,
                  .err = err,
                  .in_is_terminal = terminal,
                  .err_is_terminal = terminal,
                  .color = false};
  const int exit_code = RunCli(arguments, console);
  return {exit_code, out.str(), err.str()};
}

}  // namespace snowlease::cli
