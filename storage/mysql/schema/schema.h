#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/lease_store.h"
#include "storage/mysql/connection.h"

namespace snowlease::storage::mysql {

// One step of the schema's history: brings the version before it to `version`.
struct SchemaStep {
  int version;
  int oldest_admitted;  // servers that know this version or a later one may use the result
  std::vector<const char*> statements;  // each of which may run again
  std::vector<const char*> tables;      // that the version has
};

// From the empty database to the present version, in order. A new version is one more
// entry, with its SQL in a file beside this one.
std::span<const SchemaStep> SchemaSteps();

struct SchemaState {
  int version = 0;  // 0: empty database, or a migration that was cut off
  int oldest_admitted = 0;
  std::string store_id;
};

// kAuto: brings the schema to the last of the steps, under a lock that keeps other
// processes out; cut off in the middle it is continued by the next. kCheck, kOff: writes
// nothing, an empty or older schema is an error. A newer schema is used when it admits
// this version. Throws StoreFailure (STORE_UNAVAILABLE that tells what to do).
SchemaState MigrateSchema(Connection& connection, MigrateMode mode,
                          std::span<const SchemaStep> steps = SchemaSteps());

}  // namespace snowlease::storage::mysql
