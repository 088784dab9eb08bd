#include "storage/mysql/schema/schema.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "storage/errors.h"
#include "storage/mysql/schema/version_1.h"
#include "storage/mysql/tuples.h"

namespace snowlease::storage::mysql {
namespace {

constexpr char kSchemaTable[] = "snowlease_schema";
constexpr int kLockWaitSeconds = 60;

[[noreturn]] void Refuse(const std::string& what) {
  throw StoreFailure(StoreUnavailableError(what));
}

std::set<std::string> Tables(Connection& connection) {
  std::set<std::string> tables;
  Rows rows = connection.Query(
      "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()");
  while (rows.Next()) tables.insert(rows.TakeText());
  return tables;
}

std::string MissingTable(const Connection& connection, const std::string& table) {
  return "table " + table + " is missing in " + connection.server() +
         ": the database is damaged or not Snowlease's; restore it from a backup or name another";
}

SchemaState ReadState(Connection& connection, const std::set<std::string>& tables,
                      std::span<const SchemaStep> steps) {
  if (!tables.contains(kSchemaTable)) {
    for (const char* table : steps.back().tables) {
      if (tables.contains(table)) Refuse(MissingTable(connection, kSchemaTable));
    }
    return {};
  }
  Rows rows = connection.Query("SELECT version, oldest_admitted, store_id FROM snowlease_schema");
  SchemaState state;
  // A migration may have been cut off right after it made the table.
  if (!rows.Next()) return state;
  state.version = static_cast<int>(rows.TakeInt());
  state.oldest_admitted = static_cast<int>(rows.TakeInt());
  state.store_id = rows.TakeText();
  return state;
}

// Refuses a schema that this server cannot use, even after a migration.
void CheckUsable(const Connection& connection, const SchemaState& state,
                 const std::set<std::string>& tables, std::span<const SchemaStep> steps) {
  const SchemaStep& last = steps.back();
  if (state.version > last.version && state.oldest_admitted > last.version) {
    Refuse("the schema of " + connection.server() + " is version " + std::to_string(state.version) +
           ", which admits servers of schema version " + std::to_string(state.oldest_admitted) +
           " and later; this one is version " + std::to_string(last.version) +
           ": start a newer snowlease-server");
  }
  for (const SchemaStep& step : steps) {
    if (step.version != std::min(state.version, last.version)) continue;
    for (const char* table : step.tables) {
      if (!tables.contains(table)) Refuse(MissingTable(connection, table));
    }
  }
}

SchemaState Look(Connection& connection, std::span<const SchemaStep> steps) {
  const std::set<std::string> tables = Tables(connection);
  SchemaState state = ReadState(connection, tables, steps);
  CheckUsable(connection, state, tables, steps);
  return state;
}

std::string NewStoreId() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string id;
  while (id.size() < 32) id += kDigits[random() % 16];
  return id;
}

// The lock is the server's, not the database's, so its name has the database in it. On
// Galera it does not reach other nodes: there the statements, which may run twice, do.
class MigrationLock {
 public:
  explicit MigrationLock(Connection* connection) : connection_(connection) {
    Rows rows = connection->Query("SELECT GET_LOCK(CONCAT('snowlease:', MD5(DATABASE())), " +
                                  std::to_string(kLockWaitSeconds) + ")");
    if (!rows.Next() || rows.TakeInt() != 1) {
      Refuse("another process has been migrating the database of " + connection->server() +
             " for " + std::to_string(kLockWaitSeconds) + " s: wait for it, and start again");
    }
  }
  ~MigrationLock() {
    try {
      connection_->Query("SELECT RELEASE_LOCK(CONCAT('snowlease:', MD5(DATABASE())))");
    } catch (const StoreFailure&) {
      // The server lets go of it with the connection.
    }
  }
  MigrationLock(const MigrationLock&) = delete;
  MigrationLock& operator=(const MigrationLock&) = delete;

 private:
  Connection* const connection_;
};

void RunSteps(Connection& connection, const SchemaState& state, std::span<const SchemaStep> steps) {
  if (state.version == 0) {
    connection.Execute(
        "CREATE TABLE IF NOT EXISTS snowlease_schema (id TINYINT NOT NULL PRIMARY KEY, "
        "version INT NOT NULL, oldest_admitted INT NOT NULL, store_id VARBINARY(32) NOT NULL) "
        "ENGINE = InnoDB ROW_FORMAT = DYNAMIC");
    connection.Execute("INSERT IGNORE INTO snowlease_schema VALUES (1, 0, 0, " + Hex(NewStoreId()) +
                       ")");
  }
  for (const SchemaStep& step : steps) {
    if (step.version <= state.version) continue;
    for (const char* statement : step.statements) connection.Execute(statement);
    connection.Execute("UPDATE snowlease_schema SET version = " + std::to_string(step.version) +
                       ", oldest_admitted = " + std::to_string(step.oldest_admitted) +
                       " WHERE version < " + std::to_string(step.version));
  }
}

}  // namespace

std::span<const SchemaStep> SchemaSteps() {
  static const std::vector<SchemaStep> steps = {
      {1,
       1,
       {std::begin(kSchemaVersion1), std::end(kSchemaVersion1)},
       {kSchemaTable, "snowlease_namespace", "snowlease_lease", "snowlease_expiry_block",
        "snowlease_grant", "snowlease_audit"}},
  };
  return steps;
}

SchemaState MigrateSchema(Connection& connection, MigrateMode mode,
                          std::span<const SchemaStep> steps) {
  const int wanted = steps.back().version;
  // Without the lock a migration under way would look like a damaged database.
  std::optional<MigrationLock> lock;
  if (mode == MigrateMode::kAuto) lock.emplace(&connection);
  const SchemaState state = Look(connection, steps);
  if (state.version >= wanted) return state;
  if (mode != MigrateMode::kAuto) {
    Refuse((state.version == 0 ? "the database of " + connection.server() + " has no schema yet"
                               : "the schema of " + connection.server() + " is version " +
                                     std::to_string(state.version) + ", older than version " +
                                     std::to_string(wanted) + " of this server") +
           ": run `snowlease-server migrate`, or start with --migrate=auto");
  }
  RunSteps(connection, state, steps);
  return Look(connection, steps);
}

}  // namespace snowlease::storage::mysql
