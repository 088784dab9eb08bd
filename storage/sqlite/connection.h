#pragma once

#include <sqlite3.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "storage/lease_rows.h"
#include "storage/time_point.h"

// RAII over sqlite3: a connection, a prepared statement, one run of it. All of them
// throw StoreFailure; none is thread-safe.

namespace snowlease::storage {

class Connection {
 public:
  enum class Access { kReadWrite, kReadOnly };

  Connection(std::string path, Access access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

  void Execute(const std::string& sql);
  // How long a statement waits for locks of other connections.
  void SetBusyTimeout(Millis timeout);
  [[noreturn]] void Fail(int code, std::string_view statement) const;

 private:
  int SystemErrno() const;

  const std::string path_;
  sqlite3* handle_ = nullptr;
  Millis busy_timeout_{-1};
};

// Prepared at its first use, kept for the connection's life.
class Statement {
 public:
  Statement(Connection* connection, std::string sql)
      : connection_(connection), sql_(std::move(sql)) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Connection& connection() const { return *connection_; }
  const std::string& sql() const { return sql_; }
  sqlite3_stmt* Prepared();

 private:
  Connection* const connection_;
  const std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
};

// One run of a statement: binds the arguments in order, resets at the end. The
// arguments must outlive it: texts are not copied.
class Query {
 public:
  template <typename... Arguments>
  explicit Query(Statement& statement, const Arguments&... arguments)
      : connection_(statement.connection()), statement_(statement.Prepared()) {
    (Bind(arguments), ...);
  }
  ~Query() { sqlite3_reset(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // True when there is a (next) row; its columns are then taken from the left.
  bool Next();
  // For a statement without rows; answers how many rows it changed.
  int Run();

  int64_t TakeInt() { return sqlite3_column_int64(statement_, column_++); }
  bool TakeBool() { return TakeInt() != 0; }
  std::string TakeText();
  std::array<uint8_t, 16> TakeId();
  Millis TakeMillis() { return Millis(TakeInt()); }
  template <typename Time>
  Time TakeTime() {
    return Time{TakeInt()};
  }
  // None when the column is NULL; it is skipped then.
  template <typename Take>
  auto TakeOptional(Take take) -> std::optional<decltype(take())> {
    if (sqlite3_column_type(statement_, column_) == SQLITE_NULL) {
      ++column_;
      return std::nullopt;
    }
    return take();
  }

 private:
  void Check(int code);
  void Bind(int64_t value) { Check(sqlite3_bind_int64(statement_, ++parameter_, value)); }
  void Bind(uint64_t value) { Bind(static_cast<int64_t>(value)); }
  void Bind(uint32_t value) { Bind(static_cast<int64_t>(value)); }
  void Bind(int value) { Bind(static_cast<int64_t>(value)); }
  void Bind(bool value) { Bind(static_cast<int64_t>(value)); }
  void Bind(Millis value) { Bind(static_cast<int64_t>(value.count())); }
  void Bind(std::string_view text);
  void Bind(const std::string& text) { Bind(std::string_view(text)); }
  void Bind(const std::array<uint8_t, 16>& id);
  template <typename Tag>
  void Bind(TimePoint<Tag> time) {
    Bind(time.ms);
  }
  template <typename T>
  void Bind(const std::optional<T>& value) {
    if (value.has_value()) {
      Bind(*value);
    } else {
      Check(sqlite3_bind_null(statement_, ++parameter_));
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Bind(Enum value) { Bind(static_cast<int64_t>(value)); }

  Connection& connection_;
  sqlite3_stmt* const statement_;
  int parameter_ = 0;
  int column_ = 0;
};

// A transaction that is undone unless it is committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };  // kWrite takes the write lock at once

  Transaction(Connection* connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Commit();

 private:
  Connection* const connection_;
};

}  // namespace snowlease::storage
