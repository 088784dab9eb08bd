#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace snowlease::storage {

// What an (extended) SQLite result code means to the store's callers; decided by the
// code and the operating system's errno alone.
// BUSY, LOCKED, INTERRUPT -> STORE_TIMEOUT; FULL, IOERR, READONLY, CANTOPEN and the
// like -> STORE_UNAVAILABLE with what to do; damage and our own mistakes -> INTERNAL,
// where the statement is told.
absl::Status SqliteError(int code, int system_errno, const std::string& path,
                         std::string_view statement);

// A failed system call on the store's files: STORE_UNAVAILABLE with what to do.
absl::Status FileError(int system_errno, const std::string& path, std::string_view doing);

}  // namespace snowlease::storage
