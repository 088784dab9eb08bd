#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "storage/lease.h"

namespace snowlease::storage {

// What `postgresql://...` says: libpq's URL, and our own options taken out of it.
struct PostgresUrl {
  std::string libpq_url;  // has the password: never for logs
  std::string where;      // "PostgreSQL at host:port/database", for errors
  std::string schema = "public";
  int connections = 2;     // one for reads, the others for batches
  Millis timeout{10'000};  // of a call that has no deadline, and of each statement
};

// Errors: INVALID_ARGUMENT (store.url), which never quotes the URL.
absl::StatusOr<PostgresUrl> ParsePostgresUrl(const std::string& url);

}  // namespace snowlease::storage
