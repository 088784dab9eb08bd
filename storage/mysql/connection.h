#pragma once

#include <mysql.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/mysql/mysql_errors.h"
#include "storage/mysql/mysql_options.h"

namespace snowlease::storage::mysql {

// The rows of an answer; columns are taken from the left.
class Rows {
 public:
  explicit Rows(MYSQL_RES* result) : result_(result, mysql_free_result) {}

  bool Next();

  int64_t TakeInt();
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
    if (row_[column_] == nullptr) {
      ++column_;
      return std::nullopt;
    }
    return take();
  }

 private:
  std::string_view TakeRaw();

  std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result_;
  MYSQL_ROW row_ = nullptr;
  unsigned long* lengths_ = nullptr;  // NOLINT: the library's type
  unsigned column_ = 0;
};

// One session, whose settings do not depend on those of the server: UTC, a strict
// sql_mode, READ COMMITTED, autocommit. Not thread-safe. Throws DatabaseFailure.
class Connection {
 public:
  enum class Kind : uint8_t { kRead, kWrite };

  // Connects to the first of the hosts that answers and takes writes.
  explicit Connection(const MysqlOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Rows Query(const std::string& sql);
  // Answers how many rows the statement found (not only how many it changed).
  uint64_t Execute(const std::string& sql);

  // A kRead transaction reads one snapshot throughout.
  void Begin(Kind kind);
  // A DatabaseFailure with kLeave leaves in doubt whether it happened.
  void Commit();
  // What remains open; the connection is lost when that fails.
  void Rollback() noexcept;

  // The server's clock, now; in a transaction after the locks that it holds.
  StoreTime ReadClock();

  bool lost() const { return lost_; }
  bool in_transaction() const { return in_transaction_; }
  // "MariaDB 10.11.6 at db1:3306"
  const std::string& server() const { return server_; }

 private:
  void Connect(const MysqlOptions& options, const MysqlHost* host);
  void SetUp(const MysqlOptions& options);
  [[noreturn]] void Fail();
  void Send(const std::string& sql);

  std::unique_ptr<MYSQL, void (*)(MYSQL*)> handle_{nullptr, mysql_close};
  std::string server_;
  bool lost_ = false;
  bool in_transaction_ = false;
};

// Refuses by name what is older than MySQL 8.0 and MariaDB 10.6, by the server's own
// version text. Throws DatabaseFailure (STORE_UNAVAILABLE).
void CheckVersion(const std::string& version, const std::string& server);

}  // namespace snowlease::storage::mysql
