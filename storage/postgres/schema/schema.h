#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/lease_store.h"
#include "storage/postgres/session.h"

namespace snowlease::storage {

// One step of the schema's history: brings the version before it to `version`.
struct PostgresSchemaStep {
  int version;
  int oldest_admitted;  // servers that know this version or a later one may use the result
  const char* sql;      // {s} stands for the quoted name of the schema
  std::vector<const char*> tables;  // that the version has
};

// From the empty database to the present version, in order.
std::span<const PostgresSchemaStep> PostgresSchemaSteps();

struct PostgresSchemaState {
  int version = 0;  // 0: no tables yet
  int oldest_admitted = 0;
  std::string store_id;
};

// kAuto: brings the schema to the last of the steps, in one transaction, whoever else
// tries the same. kCheck, kOff: writes nothing, an empty or older schema is an error.
// A newer schema is used when it admits this version.
// Throws StoreFailure (STORE_UNAVAILABLE that tells what to do).
PostgresSchemaState MigratePostgresSchema(
    Session& session, const std::string& schema, MigrateMode mode, Millis timeout,
    std::span<const PostgresSchemaStep> steps = PostgresSchemaSteps());

}  // namespace snowlease::storage
