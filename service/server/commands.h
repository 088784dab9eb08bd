#pragma once

#include "service/config/config_loader.h"

// What the program does, by its first word. Each answers the exit code.

namespace snowlease::service {

// Serves until a signal: 0 after a drain, 1 when the start failed.
int Serve(const LoadedConfig& loaded);
// Brings the schema up to date.
int MigrateStore(const Config& config);
// Asks the server at grpc.listen: 0 when it serves, else 1.
int CheckHealth(const Config& config);

}  // namespace snowlease::service
