#include "storage/postgres/schema/schema.h"

#include <algorithm>

#include "storage/errors.h"
#include "storage/postgres/postgres_errors.h"
#include "storage/postgres/schema/version_1.h"

namespace snowlease::storage {
namespace {

// Any number that nobody else uses for advisory locks: "snowleas".
constexpr char kMigrationLock[] = "SELECT pg_advisory_xact_lock(8317153183247721843)";

[[noreturn]] void Refuse(const std::string& what) {
  throw StoreFailure(StoreUnavailableError(what));
}

std::string WithSchema(std::string sql, const std::string& quoted) {
  constexpr std::string_view kMark = "{s}";
  for (size_t at = 0; (at = sql.find(kMark, at)) != std::string::npos; at += quoted.size()) {
    sql.replace(at, kMark.size(), quoted);
  }
  return sql;
}

class Migration {
 public:
  Migration(Session& session, const std::string& schema, std::span<const PostgresSchemaStep> steps)
      : session_(session),
        schema_(schema),
        quoted_(session.QuotedName(schema)),
        place_("schema \"" + schema + "\" of " + session.where()),
        steps_(steps) {}

  const std::string& place() const { return place_; }

  PostgresSchemaState Read() {
    if (!HasTable("snowlease_schema")) {
      for (const char* table : steps_.back().tables) {
        if (HasTable(table)) Refuse(MissingTable("snowlease_schema"));
      }
      return {};
    }
    const pqxx::result result = session_.Run("SELECT version, oldest_admitted, store_id FROM " +
                                             quoted_ + ".snowlease_schema");
    if (result.empty()) {
      Refuse("table snowlease_schema in " + place_ +
             " has no row: the database is damaged; restore it from a backup");
    }
    const pqxx::row row = result.front();
    RowReader reader(row);
    PostgresSchemaState state;
    state.version = static_cast<int>(reader.TakeInt());
    state.oldest_admitted = static_cast<int>(reader.TakeInt());
    state.store_id = reader.TakeText();
    return state;
  }

  // Refuses a schema that this server cannot use, even after a migration.
  void CheckUsable(const PostgresSchemaState& state) {
    const PostgresSchemaStep& last = steps_.back();
    if (state.version > last.version && state.oldest_admitted > last.version) {
      Refuse("the " + place_ + " is version " + std::to_string(state.version) +
             ", which admits servers of schema version " + std::to_string(state.oldest_admitted) +
             " and later; this one is version " + std::to_string(last.version) +
             ": start a newer snowlease-server");
    }
    for (const PostgresSchemaStep& step : steps_) {
      if (step.version != std::min(state.version, last.version)) continue;
      for (const char* table : step.tables) {
        if (!HasTable(table)) Refuse(MissingTable(table));
      }
    }
  }

  // Names are compared byte by byte and may have any letters.
  void CheckEncoding() {
    const pqxx::result result = session_.Run("SELECT current_setting('server_encoding')");
    const std::string encoding = result.front()[0].c_str();
    if (encoding == "UTF8") return;
    Refuse(session_.where() + " has the encoding " + encoding +
           ": create the database with ENCODING 'UTF8'");
  }

  void RunSteps(PostgresSchemaState& state) {
    try {
      TryRunSteps(state);
    } catch (const PostgresFailure& failure) {
      if (failure.sqlstate() != "42501") throw;
      Refuse(
          "the account of store.url may not make tables in " + place_ +
          ": run `snowlease-server migrate` with an account that may, or GRANT CREATE ON SCHEMA " +
          quoted_ + " to this one");
    }
  }

 private:
  bool HasTable(const std::string& table) {
    return !session_
                .Run(
                    "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON "
                    "n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2 AND "
                    "c.relkind IN ('r', 'p')",
                    {schema_, table})
                .empty();
  }

  std::string MissingTable(const std::string& table) const {
    return "table " + table + " is missing in " + place_ +
           ": the schema is damaged or not Snowlease's; restore it from a backup or name another";
  }

  void TryRunSteps(PostgresSchemaState& state) {
    const bool empty = state.version == 0;
    const bool has_schema =
        !session_.Run("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", {schema_})
             .empty();
    if (!has_schema) session_.Run("CREATE SCHEMA " + quoted_);
    for (const PostgresSchemaStep& step : steps_) {
      if (step.version <= state.version) continue;
      session_.Run(WithSchema(step.sql, quoted_));
      state.version = step.version;
      state.oldest_admitted = step.oldest_admitted;
    }
    if (empty) {
      session_.Run("INSERT INTO " + quoted_ +
                   ".snowlease_schema VALUES (0, 0, replace(gen_random_uuid()::text, '-', ''))");
    }
    session_.Run("UPDATE " + quoted_ +
                 ".snowlease_schema SET version = " + std::to_string(state.version) +
                 ", oldest_admitted = " + std::to_string(state.oldest_admitted));
  }

  Session& session_;
  const std::string schema_;
  const std::string quoted_;
  const std::string place_;
  const std::span<const PostgresSchemaStep> steps_;
};

}  // namespace

std::span<const PostgresSchemaStep> PostgresSchemaSteps() {
  static const std::vector<PostgresSchemaStep> steps = {
      {1,
       1,
       kPostgresSchemaVersion1,
       {"snowlease_schema", "snowlease_namespace", "snowlease_lease", "snowlease_expiry_block",
        "snowlease_grant", "snowlease_audit"}},
  };
  return steps;
}

PostgresSchemaState MigratePostgresSchema(Session& session, const std::string& schema,
                                          MigrateMode mode, Millis timeout,
                                          std::span<const PostgresSchemaStep> steps) {
  const int wanted = steps.back().version;
  Migration migration(session, schema, steps);
  {
    SessionTransaction transaction(&session, SessionTransaction::Kind::kRead, timeout);
    migration.CheckEncoding();
    const PostgresSchemaState state = migration.Read();
    migration.CheckUsable(state);
    if (state.version >= wanted) return state;
    if (mode != MigrateMode::kAuto) {
      Refuse((state.version == 0
                  ? migration.place() + " has no tables of Snowlease yet"
                  : "the " + migration.place() + " is version " + std::to_string(state.version) +
                        ", older than version " + std::to_string(wanted) + " of this server") +
             ": run `snowlease-server migrate`, or start with --store-migrate=auto");
    }
  }
  // Looked at again under the lock: another process may have been faster.
  SessionTransaction transaction(&session, SessionTransaction::Kind::kWrite, timeout);
  session.Run(kMigrationLock);
  PostgresSchemaState state = migration.Read();
  migration.CheckUsable(state);
  if (state.version < wanted) migration.RunSteps(state);
  state = migration.Read();
  transaction.Commit();
  return state;
}

}  // namespace snowlease::storage
