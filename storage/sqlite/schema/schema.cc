#include "storage/sqlite/schema/schema.h"

#include "storage/errors.h"
#include "storage/sqlite/schema/version_1.h"

namespace snowlease::storage {
namespace {

// "SNOW" in the file's header, for programs that look there. Older files have none.
constexpr int64_t kApplicationId = 0x534E4F57;

[[noreturn]] void Refuse(const std::string& what) {
  throw StoreFailure(StoreUnavailableError(what));
}

bool HasTable(Connection& connection, const std::string& table) {
  Statement statement(&connection, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  Query query(statement, table);
  return query.Next();
}

std::string MissingTable(const Connection& connection, const std::string& table) {
  return "table " + table + " is missing in " + connection.path() +
         ": the file is damaged or not Snowlease's; restore it from a backup or name another";
}

// Refuses a file without our tables in which another program keeps its own.
void RefuseForeign(Connection& connection) {
  Statement tables(&connection,
                   "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~' "
                   "ORDER BY name LIMIT 3");
  std::string names;
  Query names_query(tables);
  while (names_query.Next()) names += (names.empty() ? "" : ", ") + names_query.TakeText();
  Statement pragma(&connection, "PRAGMA application_id");
  Query id_query(pragma);
  const int64_t id = id_query.Next() ? id_query.TakeInt() : 0;
  if (names.empty() && (id == 0 || id == kApplicationId)) return;
  Refuse(connection.path() + " is the database of another program (" +
         (names.empty() ? "application_id " + std::to_string(id) : "it has " + names) +
         "): name another file");
}

SchemaState ReadState(Connection& connection, std::span<const SchemaStep> steps) {
  if (!HasTable(connection, "snowlease_schema")) {
    for (const char* table : steps.back().tables) {
      if (HasTable(connection, table)) Refuse(MissingTable(connection, "snowlease_schema"));
    }
    RefuseForeign(connection);
    return {};
  }
  Statement statement(&connection,
                      "SELECT version, oldest_admitted, store_id FROM snowlease_schema");
  Query query(statement);
  if (!query.Next()) {
    Refuse("table snowlease_schema in " + connection.path() +
           " has no row: the file is damaged; restore it from a backup");
  }
  SchemaState state;
  state.version = static_cast<int>(query.TakeInt());
  state.oldest_admitted = static_cast<int>(query.TakeInt());
  state.store_id = query.TakeText();
  return state;
}

// Refuses a schema that this server cannot use, even after a migration.
void CheckUsable(Connection& connection, const SchemaState& state,
                 std::span<const SchemaStep> steps) {
  const SchemaStep& last = steps.back();
  if (state.version > last.version && state.oldest_admitted > last.version) {
    Refuse("the schema of " + connection.path() + " is version " + std::to_string(state.version) +
           ", which admits servers of schema version " + std::to_string(state.oldest_admitted) +
           " and later; this one is version " + std::to_string(last.version) +
           ": start a newer snowlease-server");
  }
  for (const SchemaStep& step : steps) {
    if (step.version != std::min(state.version, last.version)) continue;
    for (const char* table : step.tables) {
      if (!HasTable(connection, table)) Refuse(MissingTable(connection, table));
    }
  }
}

void RunSteps(Connection& connection, SchemaState& state, std::span<const SchemaStep> steps) {
  const bool empty = state.version == 0;
  for (const SchemaStep& step : steps) {
    if (step.version <= state.version) continue;
    connection.Execute(step.sql);
    state.version = step.version;
    state.oldest_admitted = step.oldest_admitted;
  }
  if (empty) {
    connection.Execute("PRAGMA application_id = " + std::to_string(kApplicationId));
    connection.Execute("INSERT INTO snowlease_schema VALUES (0, 0, lower(hex(randomblob(16))))");
  }
  Statement statement(&connection, "UPDATE snowlease_schema SET version = ?, oldest_admitted = ?");
  Query(statement, state.version, state.oldest_admitted).Run();
}

}  // namespace

std::span<const SchemaStep> SchemaSteps() {
  static const std::vector<SchemaStep> steps = {
      {1,
       1,
       kSchemaVersion1,
       {"snowlease_schema", "snowlease_namespace", "snowlease_lease", "snowlease_expiry_block",
        "snowlease_grant", "snowlease_audit"}},
  };
  return steps;
}

SchemaState MigrateSchema(Connection& connection, MigrateMode mode,
                          std::span<const SchemaStep> steps) {
  const int wanted = steps.back().version;
  {
    Transaction transaction(&connection, Transaction::Kind::kRead);
    const SchemaState state = ReadState(connection, steps);
    CheckUsable(connection, state, steps);
    if (state.version >= wanted) return state;
    if (mode != MigrateMode::kAuto) {
      Refuse((state.version == 0 ? connection.path() + " has no schema yet"
                                 : "the schema of " + connection.path() + " is version " +
                                       std::to_string(state.version) + ", older than version " +
                                       std::to_string(wanted) + " of this server") +
             ": run `snowlease-server migrate`, or start with --store-migrate=auto");
    }
  }
  // Looked at again under the write lock: another process may have been faster.
  Transaction transaction(&connection, Transaction::Kind::kWrite);
  SchemaState state = ReadState(connection, steps);
  CheckUsable(connection, state, steps);
  if (state.version < wanted) RunSteps(connection, state, steps);
  state = ReadState(connection, steps);
  transaction.Commit();
  return state;
}

}  // namespace snowlease::storage
