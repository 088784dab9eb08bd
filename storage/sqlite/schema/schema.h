#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/lease_store.h"
#include "storage/sqlite/connection.h"

namespace snowlease::storage {

// One step of the schema's history: brings the version before it to `version`.
struct SchemaStep {
  int version;
  int oldest_admitted;  // servers that know this version or a later one may use the result
  const char* sql;
  std::vector<const char*> tables;  // that the version has
};

// From the empty database to the present version, in order. A new version is one more
// entry, with its SQL in a file beside this one.
std::span<const SchemaStep> SchemaSteps();

struct SchemaState {
  int version = 0;  // 0: empty database
  int oldest_admitted = 0;
  std::string store_id;
};

// kAuto: brings the schema to the last of the steps, in one transaction, whoever else
// tries the same. kCheck, kOff: writes nothing, an empty or older schema is an error.
// A newer schema is used when it admits this version.
// Throws StoreFailure (STORE_UNAVAILABLE that tells what to do).
SchemaState MigrateSchema(Connection& connection, MigrateMode mode,
                          std::span<const SchemaStep> steps = SchemaSteps());

}  // namespace snowlease::storage
