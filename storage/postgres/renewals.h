#pragma once

#include <span>

#include "storage/lease_rules.h"
#include "storage/lease_store.h"
#include "storage/postgres/postgres_bulk_statements.h"

// What holders do all the time, as one statement for a batch: the rules of lease_rules.h
// in SQL. Several elements for one grant are merged by max. At most kMostRowsPerStatement
// elements. They commit by themselves and throw StoreFailure; all of it can be repeated.

namespace snowlease::storage {

struct RenewalContext {
  Session* session;
  const PostgresNames* names;
  HostTime host_now;
  StoreOptions options;
  Millis timeout;  // of the statement and its waits for locks
};

BatchResult<Lease> RenewLeases(const RenewalContext& context, std::span<const RenewSpec> specs);
BatchResult<WatermarkReading> RaiseWatermarks(const RenewalContext& context,
                                              std::span<const RaiseSpec> specs);

}  // namespace snowlease::storage
