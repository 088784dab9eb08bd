#pragma once

#include <memory>
#include <optional>
#include <pqxx/connection>
#include <pqxx/errorhandler>
#include <pqxx/result>
#include <string>
#include <string_view>
#include <vector>

#include "storage/lease.h"

namespace snowlease::storage {

// One connection to the database; it is never opened again behind a transaction's back.
// Not thread-safe. All calls throw PostgresFailure.
class Session {
 public:
  // `where` names the database in errors.
  Session(const std::string& url, std::string where);

  // Runs statements without parameters, several at once; answers the last one's result.
  pqxx::result Run(const std::string& sql);
  // Runs one statement; parameters are in text form.
  pqxx::result Run(const std::string& sql, const std::vector<std::string>& parameters);

  // Remembers a statement whose answer nobody reads; it is sent with the next one that
  // runs, and saves a round trip. Parameters may have the forms of `Run`.
  void Queue(const std::string& sql, const std::vector<std::string>& parameters);

  void ForgetQueue() { queue_.clear(); }

  // The statement with its parameters put in as literals.
  std::string WithLiterals(const std::string& sql,
                           const std::vector<std::string>& parameters) const;
  std::string QuotedName(const std::string& name) { return connection_.quote_name(name); }
  const std::string& where() const { return where_; }
  // After a failure nothing is known of the transaction that the server is in.
  bool usable() const { return usable_; }
  void Abandon() { usable_ = false; }
  // The socket, for whoever must end a call that hangs.
  int socket() const { return connection_.sock(); }

 private:
  template <typename F>
  pqxx::result Guarded(F work);

  const std::string where_;
  mutable pqxx::connection connection_;
  pqxx::quiet_errorhandler quiet_;  // notices would go to stderr
  std::string queue_;
  bool usable_ = true;
};

// A transaction on a session; rolled back unless committed.
class SessionTransaction {
 public:
  enum class Kind { kWrite, kRead };

  // No statement and no wait for a lock takes longer than `timeout`.
  SessionTransaction(Session* session, Kind kind, Millis timeout);
  ~SessionTransaction();
  SessionTransaction(const SessionTransaction&) = delete;
  SessionTransaction& operator=(const SessionTransaction&) = delete;

  // Throws kInDoubt when the connection is lost before the answer.
  void Commit();

 private:
  Session* const session_;
  bool open_ = true;
};

// "SET LOCAL ..." for the transaction: not a setting of the session, which behind a pooler
// belongs to somebody else next.
std::string LocalTimeouts(Millis timeout);

// Takes the columns of one row from left to right.
class RowReader {
 public:
  explicit RowReader(const pqxx::row& row) : row_(row) {}

  int64_t TakeInt();
  bool TakeBool() { return *Next() == 't'; }
  std::string TakeText();
  std::string TakeBytes();
  IncarnationId TakeId();
  Millis TakeMillis() { return Millis(TakeInt()); }
  template <typename Time>
  Time TakeTime() {
    return Time{TakeInt()};
  }
  template <typename F>
  auto TakeOptional(F take) -> std::optional<decltype(take())> {
    if (row_[column_].is_null()) {
      ++column_;
      return std::nullopt;
    }
    return take();
  }

 private:
  const char* Next() { return row_[column_++].c_str(); }

  const pqxx::row& row_;
  pqxx::row::size_type column_ = 0;
};

}  // namespace snowlease::storage
