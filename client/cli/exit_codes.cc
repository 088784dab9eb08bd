#include "client/cli/exit_codes.h"

#include "snowlease/errors.h"

namespace snowlease::cli {

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  switch (client::ReasonOf(status)) {
    case client::Reason::kMachineIdLost:
      return kExitLost;
    // Both pass by themselves.
    case client::Reason::kWindowOpen:
    case client::Reason::kStoreReset:
      return kExitTryAgain;
    default:
      return client::IsRetryable(status) ? kExitTryAgain : kExitError;
  }
}

}  // namespace snowlease::cli
