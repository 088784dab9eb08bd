#include "storage/postgres/session.h"

#include <charconv>
#include <cstring>
#include <pqxx/nontransaction>
#include <pqxx/prepared_statement>
#include <utility>

#include "storage/errors.h"
#include "storage/postgres/postgres_errors.h"

namespace snowlease::storage {
namespace {

// A server that lost this client in the middle of a transaction, a stopped process for
// example, lets go of its locks after this time.
constexpr Millis kLongestPause{10'000};

pqxx::connection Connect(const std::string& url, const std::string& where) {
  try {
    return pqxx::connection(url);
  } catch (const std::exception& error) {
    throw FailureOf("08001", error.what(), where);
  }
}

int HexDigit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

Session::Session(const std::string& url, std::string where)
    : where_(std::move(where)), connection_(Connect(url, where_)), quiet_(connection_) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // Else a COMMIT after a break would be sent to a new connection, and be answered well.
  connection_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
}

template <typename F>
pqxx::result Session::Guarded(F work) {
  try {
    pqxx::nontransaction statements(connection_);
    return work(statements);
  } catch (const std::exception& error) {
    if (!connection_.is_open()) usable_ = false;
    const bool lost = !usable_;
    PostgresFailure failure = FailureOf(error, where_);
    if (failure.kind() == FailureKind::kConnection) usable_ = false;
    if (lost && failure.kind() == FailureKind::kOther) {
      throw FailureOf("08006", error.what(), where_);
    }
    throw failure;
  }
}

pqxx::result Session::Run(const std::string& sql) {
  const std::string all = std::exchange(queue_, {}) + sql;
  return Guarded([&](pqxx::nontransaction& statements) { return statements.exec(all); });
}

pqxx::result Session::Run(const std::string& sql, const std::vector<std::string>& parameters) {
  if (!queue_.empty()) Run("");
  return Guarded([&](pqxx::nontransaction& statements) {
    return statements.exec_params(sql, pqxx::prepare::make_dynamic_params(parameters));
  });
}

void Session::Queue(const std::string& sql, const std::vector<std::string>& parameters) {
  queue_ += WithLiterals(sql, parameters) + "; ";
}

std::string Session::WithLiterals(const std::string& sql,
                                  const std::vector<std::string>& parameters) const {
  std::string out;
  bool in_name = false;  // a quoted name may have a $ in it
  for (size_t i = 0; i < sql.size(); ++i) {
    if (sql[i] == '"') in_name = !in_name;
    if (in_name || sql[i] != '$') {
      out += sql[i];
      continue;
    }
    size_t number = 0;
    while (i + 1 < sql.size() && sql[i + 1] >= '0' && sql[i + 1] <= '9') {
      number = number * 10 + static_cast<size_t>(sql[++i] - '0');
    }
    out += connection_.quote(parameters.at(number - 1));
  }
  return out;
}

std::string LocalTimeouts(Millis timeout) {
  const std::string ms = std::to_string(timeout.count());
  return "SET LOCAL statement_timeout = " + ms + "; SET LOCAL lock_timeout = " + ms + "; ";
}

SessionTransaction::SessionTransaction(Session* session, Kind kind, Millis timeout)
    : session_(session) {
  const std::string mode = kind == Kind::kWrite ? "READ COMMITTED" : "REPEATABLE READ, READ ONLY";
  session_->Run(
      "BEGIN ISOLATION LEVEL " + mode + "; " + LocalTimeouts(timeout) +
      "SET LOCAL idle_in_transaction_session_timeout = " + std::to_string(kLongestPause.count()));
}

SessionTransaction::~SessionTransaction() {
  if (!open_ || !session_->usable()) return;
  session_->ForgetQueue();
  try {
    session_->Run("ROLLBACK");
  } catch (const std::exception&) {
    session_->Abandon();
  }
}

void SessionTransaction::Commit() {
  // A commit ends the transaction, whatever it answers.
  open_ = false;
  try {
    session_->Run("COMMIT");
  } catch (const PostgresFailure& failure) {
    if (failure.kind() != FailureKind::kConnection) throw;
    throw PostgresFailure(FailureKind::kInDoubt, failure.sqlstate(), failure.status());
  }
}

int64_t RowReader::TakeInt() {
  const char* const text = Next();
  int64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

std::string RowReader::TakeText() {
  const pqxx::field field = row_[column_++];
  return {field.c_str(), field.size()};
}

std::string RowReader::TakeBytes() {
  const std::string text = TakeText();
  std::string bytes;
  for (size_t i = 2; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1]));
  }
  return bytes;
}

IncarnationId RowReader::TakeId() {
  const std::string bytes = TakeBytes();
  IncarnationId id{};
  std::memcpy(id.data(), bytes.data(), std::min(bytes.size(), id.size()));
  return id;
}

}  // namespace snowlease::storage
