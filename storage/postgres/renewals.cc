#include "storage/postgres/renewals.h"

#include <algorithm>
#include <numeric>

#include "storage/errors.h"
#include "storage/lease_operations.h"
#include "storage/postgres/sql_arrays.h"
#include "storage/sql/buffered_lease_rows.h"

namespace snowlease::storage {
namespace {

static_assert(static_cast<int>(LeaseState::kHeld) == 2);
static_assert(kExpiryBlockSize == 256);

constexpr char kIsGrant[] =
    " WHERE l.namespace = k.namespace AND l.machine_id = k.machine_id AND l.token = k.token AND "
    "l.instance_id = k.instance_id AND l.state = 2 ";

// Elements of a batch grouped by grant, in the order of the keys: with rows locked in
// another order two batches could wait for each other.
template <typename Spec>
std::vector<std::vector<size_t>> ByGrant(std::span<const Spec> specs) {
  std::vector<size_t> order(specs.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](size_t i) {
    const GrantKey& grant = specs[i].grant;
    return std::tie(grant.name_space, grant.machine_id, grant.token, grant.instance_id);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  std::vector<std::vector<size_t>> groups;
  for (const size_t i : order) {
    const bool same = !groups.empty() && specs[groups.back().front()].grant == specs[i].grant;
    if (!same) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

// Runs one statement in a transaction of its own, with parameters put in as literals:
// its timeouts come with it, without a round trip more.
pqxx::result RunAlone(const RenewalContext& context, const std::string& sql,
                      const SqlArrays& arrays) {
  return context.session->Run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; " +
                              LocalTimeouts(context.timeout) +
                              context.session->WithLiterals(sql, arrays.Parameters()));
}

// ---- losers ----

// Tells those whose row did not match why.
class Losers {
 public:
  explicit Losers(const RenewalContext& context)
      : statements_(context.session, context.names, RowLock::kNone), rows_(&statements_) {
    rows_.ReadOnly();
  }

  // Reads ahead for all of them.
  void Add(const GrantKey& grant) { grants_.push_back(grant); }

  absl::Status StatusOf(const GrantKey& grant) {
    if (!grants_.empty()) rows_.ReadAhead(grants_);
    grants_.clear();
    const auto row = rows_.Get(grant.name_space, grant.machine_id);
    const bool holds = row && row->state == LeaseState::kHeld && row->token == grant.token &&
                       row->instance_id == grant.instance_id;
    if (holds) {
      return StoreUnavailableError("the lease changed while it was renewed: try again");
    }
    return MachineIdLostError(LossCause(rows_, row, grant), grant);
  }

 private:
  PostgresBulkStatements statements_;
  BufferedLeaseRows rows_;
  std::vector<GrantKey> grants_;
};

// Answers the elements: what `take` makes of the row of their grant, or why it is lost.
template <typename Result, typename Spec, typename Take>
std::vector<Result> Answers(const RenewalContext& context, std::span<const Spec> specs,
                            const std::vector<std::vector<size_t>>& groups,
                            const pqxx::result& result, Take take) {
  std::vector<Result> answers(specs.size(), InternalError("no answer"));
  std::vector<bool> found(groups.size());
  for (const pqxx::row& row : result) {
    RowReader reader(row);
    const auto place = static_cast<size_t>(reader.TakeInt()) - 1;
    found[place] = true;
    take(reader, groups[place], answers);
  }
  Losers losers(context);
  for (size_t place = 0; place < groups.size(); ++place) {
    if (!found[place]) losers.Add(specs[groups[place].front()].grant);
  }
  for (size_t place = 0; place < groups.size(); ++place) {
    if (found[place]) continue;
    const absl::Status status = losers.StatusOf(specs[groups[place].front()].grant);
    for (const size_t i : groups[place]) answers[i] = status;
  }
  return answers;
}

std::string RenewSql(const RenewalContext& context, const SqlArrays& arrays) {
  const PostgresNames& names = *context.names;
  const std::string latest_client = "greatest(" + names.clock + ", " +
                                    std::to_string(context.host_now.ms) + ") + " +
                                    std::to_string(context.options.max_clock_ahead.count());
  // renewed_before_ms is how the answer learns of the row before: when the store clock
  // went back, no bound may stay above the lease's new expiry.
  return "WITH renewed AS (UPDATE " + names.lease +
         " AS l SET used = TRUE, watermark_ms = greatest(l.watermark_ms, least(k.last_ms, "
         "l.window_end_ms)), window_end_ms = CASE WHEN l.window_end_ms IS NOT NULL THEN "
         "greatest(l.window_end_ms, least(k.client_ms, " +
         latest_client + ") + l.window_ms) END, renewed_before_ms = l.renewed_at_ms, " +
         "renewed_at_ms = " + names.clock + " FROM " + arrays.Unnest() +
         " WITH ORDINALITY AS k (namespace, machine_id, token, instance_id, last_ms, client_ms, "
         "place)" +
         kIsGrant + "RETURNING k.place, l.renewed_before_ms, " + kPostgresLeaseColumns +
         "), lowered AS (INSERT INTO " + names.block +
         " AS b (namespace, block, bound_ms) SELECT namespace, machine_id / 256, "
         "min(renewed_at_ms + safe_guard_ms) FROM renewed WHERE renewed_at_ms < "
         "renewed_before_ms AND safe_guard_ms > 0 AND NOT stable GROUP BY 1, 2 ORDER BY 1, 2 "
         "ON CONFLICT (namespace, block) DO UPDATE SET bound_ms = excluded.bound_ms "
         "WHERE b.bound_ms > excluded.bound_ms) SELECT * FROM renewed";
}

}  // namespace

BatchResult<Lease> RenewLeases(const RenewalContext& context, std::span<const RenewSpec> specs) {
  const auto groups = ByGrant(specs);
  SqlArrays arrays({"text[]", "bigint[]", "bigint[]", "text[]", "bigint[]", "bigint[]"});
  for (const std::vector<size_t>& group : groups) {
    const GrantKey& grant = specs[group.front()].grant;
    ClientTime last = specs[group.front()].last_timestamp;
    ClientTime client = specs[group.front()].client_time;
    for (const size_t i : group) {
      last = std::max(last, specs[i].last_timestamp);
      client = std::max(client, specs[i].client_time);
    }
    arrays.AddRow(grant.name_space, grant.machine_id, grant.token, grant.instance_id, last, client);
  }
  const pqxx::result result = RunAlone(context, RenewSql(context, arrays), arrays);
  const auto take = [&](RowReader& reader, const std::vector<size_t>& group,
                        BatchResult<Lease>& answers) {
    const auto renewed_before = reader.TakeTime<StoreTime>();
    const LeaseRow row = TakeLease(reader);
    const RuleContext rules{row.renewed_at, context.host_now, context.options};
    Lease lease = LeaseOf(row, rules);
    lease.since_renewal = row.renewed_at - renewed_before;
    for (const size_t i : group) {
      lease.client_clock_ahead = specs[i].client_time > rules.LatestClient();
      answers[i] = lease;
    }
  };
  return Answers<absl::StatusOr<Lease>>(context, specs, groups, result, take);
}

BatchResult<WatermarkReading> RaiseWatermarks(const RenewalContext& context,
                                              std::span<const RaiseSpec> specs) {
  const auto groups = ByGrant(specs);
  SqlArrays arrays({"text[]", "bigint[]", "bigint[]", "text[]", "bigint[]"});
  for (const std::vector<size_t>& group : groups) {
    const GrantKey& grant = specs[group.front()].grant;
    ClientTime raise_to = specs[group.front()].raise_to;
    for (const size_t i : group) raise_to = std::max(raise_to, specs[i].raise_to);
    arrays.AddRow(grant.name_space, grant.machine_id, grant.token, grant.instance_id, raise_to);
  }
  const std::string sql =
      "UPDATE " + context.names->lease +
      " AS l SET used = TRUE, watermark_ms = greatest(l.watermark_ms, least(k.raise_to_ms, "
      "l.window_end_ms)) FROM " +
      arrays.Unnest() +
      " WITH ORDINALITY AS k (namespace, machine_id, token, instance_id, raise_to_ms, place)" +
      kIsGrant + "RETURNING k.place, l.watermark_ms, " + context.names->clock;
  const pqxx::result result = RunAlone(context, sql, arrays);
  const auto take = [](RowReader& reader, const std::vector<size_t>& group,
                       BatchResult<WatermarkReading>& answers) {
    WatermarkReading reading;
    reading.watermark = reader.TakeTime<ClientTime>();
    reading.store_time = reader.TakeTime<StoreTime>();
    for (const size_t i : group) answers[i] = reading;
  };
  return Answers<absl::StatusOr<WatermarkReading>>(context, specs, groups, result, take);
}

}  // namespace snowlease::storage
