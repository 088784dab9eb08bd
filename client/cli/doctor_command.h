#pragma once

#include <string>

#include "client/cli/console.h"

namespace snowlease::cli {

struct DoctorOptions {
  std::string name_space = "snowlease-doctor";
  // Do not claim and release a lease to prove that the store works.
  bool no_claim = false;
};

// Looks at the way to the server, at the server and at both clocks. 0 when nothing
// failed, else the exit code of the first failure.
int RunDoctor(Console& console, const GlobalOptions& global, const DoctorOptions& options);

}  // namespace snowlease::cli
