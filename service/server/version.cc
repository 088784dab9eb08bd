#include "service/server/version.h"

namespace snowlease::service {

const char kVersion[] = SNOWLEASE_VERSION;

}  // namespace snowlease::service
