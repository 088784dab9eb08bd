#include "service/server/command_failure.h"

#include <vector>

#include "service/log/log.h"
#include "storage/errors.h"

namespace snowlease::service {

int Fail(const std::string& what, const absl::Status& status) {
  const std::vector<storage::FieldViolation> violations = storage::FieldViolationsOf(status);
  if (violations.empty()) {
    Log(LogLevel::kError, what + ": " + std::string(status.message()));
  }
  for (const storage::FieldViolation& violation : violations) {
    Log(LogLevel::kError, what + ": " + violation.field + ": " + violation.description);
  }
  return 1;
}

}  // namespace snowlease::service
