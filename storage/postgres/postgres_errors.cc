#include "storage/postgres/postgres_errors.h"

#include <algorithm>
#include <pqxx/except>

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

// libpq's messages have several lines; logs and errors have one.
std::string OneLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "; ";
    } else if (c != '\t') {
      out += c;
    }
  }
  return out;
}

std::string StateOf(const std::exception& error) {
  // Most types of libpqxx 6.4 carry no SQLSTATE: they stand for it themselves.
  const auto* const sql = dynamic_cast<const pqxx::sql_error*>(&error);
  if (sql != nullptr && !sql->sqlstate().empty()) return sql->sqlstate();
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr) return "42501";
  if (dynamic_cast<const pqxx::undefined_table*>(&error) != nullptr) return "42P01";
  if (dynamic_cast<const pqxx::undefined_column*>(&error) != nullptr) return "42703";
  if (dynamic_cast<const pqxx::disk_full*>(&error) != nullptr) return "53100";
  if (dynamic_cast<const pqxx::insufficient_resources*>(&error) != nullptr) return "53000";
  if (dynamic_cast<const pqxx::deadlock_detected*>(&error) != nullptr) return "40P01";
  if (dynamic_cast<const pqxx::serialization_failure*>(&error) != nullptr) return "40001";
  if (dynamic_cast<const pqxx::statement_completion_unknown*>(&error) != nullptr) return "40003";
  if (dynamic_cast<const pqxx::transaction_rollback*>(&error) != nullptr) return "40000";
  if (dynamic_cast<const pqxx::too_many_connections*>(&error) != nullptr) return "53300";
  if (dynamic_cast<const pqxx::broken_connection*>(&error) != nullptr) return "08006";
  return "";
}

}  // namespace

FailureKind KindOfSqlState(std::string_view sqlstate) {
  const std::string_view group = sqlstate.substr(0, 2);
  // Whether it was undone is not known, as when the connection is lost.
  if (sqlstate == "40003") return FailureKind::kConnection;
  if (group == "40") return FailureKind::kRepeat;
  if (group == "08") return FailureKind::kConnection;
  constexpr std::string_view kLost[] = {
      "25006",                    // read-only: the server was demoted, another is the primary
      "57P01", "57P02", "57P03",  // shutdown, crash of another backend, starting up
      "57P05", "25P03",           // ended because it was idle
      "53300",                    // too many connections
  };
  if (std::count(std::begin(kLost), std::end(kLost), sqlstate) > 0) return FailureKind::kConnection;
  if (sqlstate == "57014" || sqlstate == "55P03") return FailureKind::kTimeout;
  return FailureKind::kOther;
}

PostgresFailure FailureOf(std::string_view sqlstate, const std::string& message,
                          const std::string& where) {
  const FailureKind kind = KindOfSqlState(sqlstate);
  const std::string group(sqlstate.substr(0, 2));
  const std::string cause = " (" + OneLine(message) +
                            (sqlstate.empty() ? "" : ", SQLSTATE " + std::string(sqlstate)) + ")";
  const auto failure = [&](absl::Status status) {
    return PostgresFailure(kind, std::string(sqlstate), std::move(status));
  };
  const auto unavailable = [&](const std::string& what) {
    return failure(StoreUnavailableError(where + what));
  };
  if (sqlstate == "25006") {
    return unavailable(" is read-only" + cause +
                       "; the server looks for the primary at every new connection: name all hosts "
                       "in store.url");
  }
  switch (kind) {
    case FailureKind::kConnection:
    case FailureKind::kInDoubt:
      return unavailable(" cannot be reached" + cause);
    case FailureKind::kTimeout:
      return failure(StoreTimeoutError(where + " did not answer in time" + cause));
    case FailureKind::kRepeat:
      return unavailable(" undid the transaction because of others, again and again" + cause);
    case FailureKind::kOther:
      break;
  }
  if (group == "53" || group == "58") {
    return unavailable(" has no room or resources left" + cause +
                       ": nothing of this call was written; the server goes on by itself");
  }
  if (sqlstate == "42501") {
    return unavailable(" refuses the account of store.url" + cause +
                       "; grant it the tables (SELECT, INSERT, UPDATE, DELETE), and for "
                       "`snowlease-server migrate` CREATE on the schema");
  }
  if (sqlstate == "42P01" || sqlstate == "42703" || sqlstate == "3F000") {
    return unavailable(" lacks a table or column of Snowlease" + cause +
                       ": run `snowlease-server migrate`, or restore the database from a backup");
  }
  return failure(InternalError(where + cause));
}

PostgresFailure FailureOf(const std::exception& error, const std::string& where) {
  return FailureOf(StateOf(error), error.what(), where);
}

}  // namespace snowlease::storage
