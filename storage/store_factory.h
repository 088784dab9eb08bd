#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/lease_store.h"

namespace snowlease::storage {

// Opens the store that the URL names: `memory:` or `sqlite:PATH`. Does not migrate.
// Errors: INVALID_ARGUMENT (field "store.url") for a URL that is not understood or a
// backend that is not built; STORE_UNAVAILABLE when it cannot be opened. The clock
// must outlive the store.
absl::StatusOr<std::unique_ptr<LeaseStore>> OpenStore(const std::string& url,
                                                      const StoreOptions& options, Clock* clock);

// The URL without its password, fit for logs.
std::string RedactedUrl(const std::string& url);

}  // namespace snowlease::storage
