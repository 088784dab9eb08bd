#include "storage/sqlite/connection.h"

#include <algorithm>

#include "storage/sqlite/sqlite_errors.h"

namespace snowlease::storage {

Connection::Connection(std::string path, Access access) : path_(std::move(path)) {
  // No mutex of SQLite's own: each connection stands under one of ours.
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (access == Access::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    const int system_errno = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
    sqlite3_close_v2(handle_);
    throw StoreFailure(SqliteError(code, system_errno, path_, "open"));
  }
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

void Connection::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) Fail(code, sql);
}

void Connection::SetBusyTimeout(Millis timeout) {
  if (timeout == busy_timeout_) return;
  const int64_t most = 3'600'000;
  sqlite3_busy_timeout(handle_, static_cast<int>(std::clamp<int64_t>(timeout.count(), 0, most)));
  busy_timeout_ = timeout;
}

int Connection::SystemErrno() const {
  if (const int known = sqlite3_system_errno(handle_); known != 0) return known;
  // Failed writes are remembered by the file alone: the database or its log.
  int of_file = 0;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_LAST_ERRNO, &of_file);
  if (of_file != 0) return of_file;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_file);
  }
  return of_file;
}

void Connection::Fail(int code, std::string_view statement) const {
  // The errno is of the last failed system call, which need not be this failure's.
  const int primary = code & 0xff;
  const bool by_system = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  throw StoreFailure(SqliteError(code, by_system ? SystemErrno() : 0, path_, statement));
}

sqlite3_stmt* Statement::Prepared() {
  if (statement_ == nullptr) {
    const int code =
        sqlite3_prepare_v3(connection_->handle(), sql_.c_str(), static_cast<int>(sql_.size() + 1),
                           SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
    if (code != SQLITE_OK) connection_->Fail(code, sql_);
  }
  return statement_;
}

bool Query::Next() {
  const int code = sqlite3_step(statement_);
  column_ = 0;
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.Fail(code, sqlite3_sql(statement_));
  return false;
}

int Query::Run() {
  Next();
  return sqlite3_changes(connection_.handle());
}

std::string Query::TakeText() {
  const auto* text = sqlite3_column_text(statement_, column_);
  const int size = sqlite3_column_bytes(statement_, column_);
  ++column_;
  return text == nullptr
             ? std::string()
             : std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
}

std::array<uint8_t, 16> Query::TakeId() {
  std::array<uint8_t, 16> id{};
  const auto* bytes = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column_));
  const int size = sqlite3_column_bytes(statement_, column_);
  ++column_;
  if (bytes != nullptr) std::copy_n(bytes, std::min<size_t>(id.size(), size), id.begin());
  return id;
}

void Query::Check(int code) {
  if (code != SQLITE_OK) connection_.Fail(code, sqlite3_sql(statement_));
}

void Query::Bind(std::string_view text) {
  // A null pointer would be bound as NULL.
  const char* const data = text.empty() ? "" : text.data();
  Check(sqlite3_bind_text(statement_, ++parameter_, data, static_cast<int>(text.size()),
                          SQLITE_STATIC));
}

void Query::Bind(const std::array<uint8_t, 16>& id) {
  Check(sqlite3_bind_blob(statement_, ++parameter_, id.data(), static_cast<int>(id.size()),
                          SQLITE_STATIC));
}

Transaction::Transaction(Connection* connection, Kind kind) : connection_(connection) {
  connection_->Execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // Some failures (no room, for one) have already ended the transaction.
  if (sqlite3_get_autocommit(connection_->handle()) == 0) {
    sqlite3_exec(connection_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::Commit() { connection_->Execute("COMMIT"); }

}  // namespace snowlease::storage
