#include "client/cli/confirm.h"

#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"

namespace snowlease::cli {

int Confirm(Console& console, bool yes, const std::string& what) {
  if (yes) return kExitOk;
  if (!console.in_is_terminal) {
    return FailUsage(console, "this would " + what + ": say --yes (nobody is there to be asked)");
  }
  console.err << "This will " << what << ". Type yes to go on: " << std::flush;
  std::string answer;
  std::getline(console.in, answer);
  if (answer == "yes") return kExitOk;
  console.err << "nothing was done\n";
  return kExitError;
}

}  // namespace snowlease::cli
