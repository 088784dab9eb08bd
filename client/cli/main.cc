#include <grpc/support/log.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "client/cli/cli.h"

int main(int argc, char** argv) {
  // What gRPC would write about each failed attempt comes with the error that is told.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = no_color == nullptr || *no_color == '\0';
  snowlease::cli::Console console{.in = std::cin,
                                  .out = std::cout,
                                  .err = std::cerr,
                                  .in_is_terminal = isatty(STDIN_FILENO) == 1,
                                  .err_is_terminal = isatty(STDERR_FILENO) == 1,
                                  .color = color && isatty(STDERR_FILENO) == 1};
  const int exit_code =
      snowlease::cli::RunCli(std::vector<std::string>(argv + 1, argv + argc), console);
  std::cout.flush();
  // A full disk or a closed pipe behind stdout is no success.
  return std::cout.good() || exit_code != 0 ? exit_code : 1;
}
