#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "storage/lease_rows.h"

namespace snowlease::storage {

// What a failure of the database means for the call, by SQLSTATE.
enum class FailureKind {
  kRepeat,      // the transaction was undone by a conflict: run it again
  kConnection,  // the connection is lost, or its server must not be written to
  kInDoubt,     // lost while it was committed: it may have happened
  kTimeout,     // a statement or a lock took too long; undone
  kOther,       // undone; repeating does not help by itself
};

class PostgresFailure : public StoreFailure {
 public:
  PostgresFailure(FailureKind kind, std::string sqlstate, absl::Status status)
      : StoreFailure(std::move(status)), kind_(kind), sqlstate_(std::move(sqlstate)) {}
  FailureKind kind() const { return kind_; }
  // Empty when the server did not say.
  const std::string& sqlstate() const { return sqlstate_; }

 private:
  FailureKind kind_;
  std::string sqlstate_;
};

FailureKind KindOfSqlState(std::string_view sqlstate);

// The failure that an error of the server means; `where` names the database, `message` is
// the server's own.
PostgresFailure FailureOf(std::string_view sqlstate, const std::string& message,
                          const std::string& where);
// Translates what libpqxx throws.
PostgresFailure FailureOf(const std::exception& error, const std::string& where);

}  // namespace snowlease::storage
