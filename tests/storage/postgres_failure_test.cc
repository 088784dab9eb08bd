#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <pqxx/connection>
#include <pqxx/nontransaction>
#include <thread>

#include "storage/errors.h"
#include "storage/postgres/postgres_lease_store.h"
#include "tests/testing/matchers.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/tcp_proxy.h"

// What callers see when the database, or the way to it, fails.

namespace snowlease::testing {
namespace {

using namespace storage;  // NOLINT: speaks to the store throughout

std::unique_ptr<PostgresLeaseStore> StoreAt(const std::string& url) {
  auto store = PostgresLeaseStore::Open({url, ""}, {}, Clock::Real());
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  const absl::Status status = (*store)->Migrate(MigrateMode::kAuto);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return *std::move(store);
}

ClientTime Now() { return {Clock::Real()->Now().ms}; }

ClaimSpec ClaimOf(const std::string& instance) {
  static std::atomic<uint8_t> last{0};
  ClaimSpec spec;
  spec.name_space = "orders";
  spec.instance_id = instance;
  spec.incarnation_id[0] = ++last;
  spec.client_time = Now();
  spec.max_wait = Millis(500);
  return spec;
}

GrantKey KeyOf(const Lease& lease) {
  return {lease.row.name_space, lease.row.machine_id, *lease.row.instance_id, lease.row.token};
}

absl::StatusOr<Lease> Claim(LeaseStore& store, const ClaimSpec& spec, CallOptions options = {}) {
  return store.Claim({&spec, 1}, options).front();
}

absl::StatusOr<Lease> Renew(LeaseStore& store, const Lease& lease, ClientTime last,
                            CallOptions options = {}) {
  const RenewSpec spec{KeyOf(lease), last, Now()};
  return store.Renew({&spec, 1}, options).front();
}

CallOptions Within(Millis timeout) { return {Clock::Real()->SteadyNow() + timeout}; }

// A session of somebody else.
class Other {
 public:
  explicit Other(const PostgresServer& server) : connection_(server.Url()), quiet_(connection_) {}
  void Run(const std::string& sql) { pqxx::nontransaction(connection_).exec(sql); }
  size_t Count(const std::string& sql) {
    return pqxx::nontransaction(connection_).exec(sql).size();
  }

 private:
  pqxx::connection connection_;
  pqxx::quiet_errorhandler quiet_;
};

class PostgresFailures : public ::testing::Test {
 protected:
  PostgresServer server_{{"deadlock_timeout=100ms"}};
};

// A1, F47: under load the server is killed and comes back.
TEST_F(PostgresFailures, KilledServerLosesNothingAcknowledgedAndCallersGoOn) {
  const auto store = StoreAt(server_.Url("connections=4"));
  struct Worker {
    std::optional<Lease> lease;
    ClientTime acknowledged;
    int errors = 0;
    int after = 0;
  };
  constexpr int kWorkers = 8;
  std::vector<Worker> workers(kWorkers);
  std::atomic<bool> ended{false};
  std::atomic<bool> restarted{false};
  std::atomic<int> renewals{0};
  std::vector<std::thread> threads;
  threads.reserve(kWorkers);
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&, i] {
      Worker& worker = workers[i];
      while (!ended) {
        absl::Status status;
        if (!worker.lease) {
          auto lease = Claim(*store, ClaimOf("i" + std::to_string(i)));
          status = lease.status();
          if (lease.ok()) worker.lease = *lease;
        } else {
          const ClientTime last = Now();
          const auto renewed = Renew(*store, *worker.lease, last);
          status = renewed.status();
          if (renewed.ok()) worker.acknowledged = renewed->row.watermark;
        }
        if (status.ok()) {
          ++renewals;
          if (restarted) ++worker.after;
        } else {
          EXPECT_THAT(status, HasReason(Reason::kStoreUnavailable));
          ++worker.errors;
        }
      }
    });
  }
  for (int round = 0; round < 3; ++round) {
    const int before = renewals;
    EXPECT_TRUE(Eventually([&] { return renewals > before + 500; }));
    server_.Kill();
    server_.Start();
  }
  restarted = true;
  EXPECT_TRUE(Eventually([&] {
    return std::all_of(workers.begin(), workers.end(), [](const Worker& w) { return w.after > 0; });
  }));
  ended = true;
  for (std::thread& thread : threads) thread.join();
  int errors = 0;
  for (const Worker& worker : workers) {
    errors += worker.errors;
    const auto stored = store->GetLease("orders", worker.lease->row.machine_id);
    ASSERT_THAT(stored, IsOk());
    EXPECT_EQ(stored->lease.row.token, worker.lease->row.token);
    EXPECT_GE(stored->lease.row.watermark, worker.acknowledged);
  }
  EXPECT_GT(errors, 0) << "the server was not missed";
}

TEST_F(PostgresFailures, IdleConnectionsAreReplacedAfterARestartWithoutAnError) {
  const auto store = StoreAt(server_.Url());
  const auto lease = Claim(*store, ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  for (int round = 0; round < 3; ++round) {
    server_.Stop();
    server_.Start();
    EXPECT_THAT(Renew(*store, *lease, Now()), IsOk());
    EXPECT_THAT(store->Ping(), IsOk());
    EXPECT_THAT(store->GetWatermark("orders", 0), IsOk());
  }
  server_.Stop();
  server_.Start();
  EXPECT_THAT(Claim(*store, ClaimOf("b")), IsOk());
}

TEST_F(PostgresFailures, StoppedServerIsUnavailableAtOnce) {
  const auto store = StoreAt(server_.Url());
  server_.Stop();
  EXPECT_THAT(Claim(*store, ClaimOf("a")), HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(store->Ping(), HasReason(Reason::kStoreUnavailable));
  server_.Start();
  EXPECT_THAT(Claim(*store, ClaimOf("a")), IsOk());
}

// F33
TEST_F(PostgresFailures, DeadlockIsRepeatedInside) {
  const auto store = StoreAt(server_.Url());
  const auto first = Claim(*store, ClaimOf("a"));
  const auto second = Claim(*store, ClaimOf("b"));
  ASSERT_THAT(second, IsOk());
  for (int round = 0; round < 3; ++round) {
    Other other(server_);
    other.Run("BEGIN; SET LOCAL deadlock_timeout = '1min'");
    other.Run("SELECT 1 FROM snowlease_lease WHERE machine_id = 1 FOR UPDATE");
    const RenewSpec specs[] = {{KeyOf(*first), Now(), Now()}, {KeyOf(*second), Now(), Now()}};
    BatchResult<Lease> renewed;
    std::thread renewing([&] { renewed = store->Renew(specs, {}); });
    // Waits for the first row, which the batch holds while it waits for the second.
    EXPECT_TRUE(Eventually(
        [&] { return server_.Run("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0"; }));
    other.Run("SELECT 1 FROM snowlease_lease WHERE machine_id = 0 FOR UPDATE");
    other.Run("ROLLBACK");
    renewing.join();
    for (const auto& lease : renewed) EXPECT_THAT(lease, IsOk());
  }
  // Statistics are told with a delay.
  EXPECT_TRUE(Eventually([&] {
    return server_.Run("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'") != "0";
  }));
}

// W1: the floor of the tombstone covers a window that was opened meanwhile.
TEST_F(PostgresFailures, DeletingANamespaceSeesTheRenewalThatItWaitedFor) {
  const auto store = StoreAt(server_.Url());
  const auto lease = Claim(*store, ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  Other root(server_);
  root.Run("UPDATE snowlease_lease SET renewed_at_ms = 0");
  Other renewal(server_);
  renewal.Run("BEGIN");
  renewal.Run("UPDATE snowlease_lease SET renewed_at_ms = " +
              std::to_string(lease->row.renewed_at.ms));
  absl::Status deleted;
  std::thread operator_thread([&] {
    deleted = store->DeleteNamespace("orders", {"ada", "not used any more"});
  });
  EXPECT_TRUE(
      Eventually([&] { return root.Count("SELECT 1 FROM pg_locks WHERE NOT granted") > 0; }));
  renewal.Run("COMMIT");
  operator_thread.join();
  EXPECT_THAT(deleted, HasReason(Reason::kNamespaceNotEmpty));
  EXPECT_THAT(Renew(*store, *lease, Now()), IsOk());
}

TEST_F(PostgresFailures, LockThatIsHeldTooLongEndsInATimeoutAndChangesNothing) {
  const auto store = StoreAt(server_.Url());
  const auto lease = Claim(*store, ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  Other other(server_);
  other.Run("BEGIN; SELECT 1 FROM snowlease_namespace FOR UPDATE");
  EXPECT_THAT(Claim(*store, ClaimOf("b"), Within(Millis(300))), HasReason(Reason::kStoreTimeout));
  EXPECT_THAT(Renew(*store, *lease, Now()), IsOk()) << "renewals do not lock the namespace";
  other.Run("SELECT 1 FROM snowlease_lease FOR UPDATE");
  EXPECT_THAT(Renew(*store, *lease, Now(), Within(Millis(300))), HasReason(Reason::kStoreTimeout));
  other.Run("ROLLBACK");
  EXPECT_THAT(Renew(*store, *lease, Now()), IsOk());
  EXPECT_EQ(store->GetNamespace("orders")->row.counts.held, 1u);
}

// In doubt: it happened, and nobody was told.
TEST_F(PostgresFailures, ClaimWhoseCommitIsCutOffCanBeRepeated) {
  TcpProxy proxy(server_.port());
  const auto store =
      StoreAt("postgresql://snowlease@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres");
  const ClaimSpec spec = ClaimOf("a");
  proxy.CutAnswerTo("; COMMIT");
  EXPECT_THAT(Claim(*store, spec), HasReason(Reason::kStoreUnavailable));
  EXPECT_EQ(proxy.cuts(), 1);
  EXPECT_EQ(server_.Run("SELECT count(*) FROM snowlease_grant"), "1") << "it did happen";
  const auto again = Claim(*store, spec);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->row.token, 1u);
  EXPECT_EQ(store->GetNamespace("orders")->row.counts.held, 1u);
  const ReleaseSpec release{KeyOf(*again), Now(), false};
  proxy.CutAnswerTo("; COMMIT");
  EXPECT_THAT(store->Release({&release, 1}, {}).front(), HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(store->Release({&release, 1}, {}).front(), IsOk());
  EXPECT_EQ(store->GetNamespace("orders")->row.counts.free, 1u);
}

TEST_F(PostgresFailures, RenewalWhoseAnswerIsCutOffIsRepeatedInside) {
  TcpProxy proxy(server_.port());
  const auto store =
      StoreAt("postgresql://snowlease@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres");
  const auto lease = Claim(*store, ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  proxy.CutAnswerTo("renewed");
  const ClientTime last = Now();
  const auto renewed = Renew(*store, *lease, last);
  ASSERT_THAT(renewed, IsOk());
  EXPECT_EQ(renewed->row.watermark, last);
  EXPECT_EQ(proxy.cuts(), 1);
}

TEST_F(PostgresFailures, SilentHostEndsInATimeoutAndIsLeft) {
  TcpProxy proxy(server_.port());
  const auto store =
      StoreAt("postgresql://snowlease@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres");
  const auto lease = Claim(*store, ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  proxy.GoSilent();
  EXPECT_THAT(Renew(*store, *lease, Now(), Within(Millis(200))), HasReason(Reason::kStoreTimeout));
  proxy.GoOn();
  EXPECT_THAT(Renew(*store, *lease, Now()), IsOk());
}

// After a failover the old primary must not be kept.
TEST_F(PostgresFailures, ReadOnlyServerIsUnavailableUntilItIsWritable) {
  const auto store = StoreAt(server_.Url());
  ASSERT_THAT(Claim(*store, ClaimOf("a")), IsOk());
  server_.Run("ALTER SYSTEM SET default_transaction_read_only = on");
  server_.Run("SELECT pg_reload_conf()");
  EXPECT_TRUE(
      Eventually([&] { return server_.Run("SHOW default_transaction_read_only") == "on"; }));
  EXPECT_TRUE(Eventually(
      [&] { return ReasonOf(Claim(*store, ClaimOf("b")).status()) == Reason::kStoreUnavailable; }));
  EXPECT_THAT(store->Ping(), HasReason(Reason::kStoreUnavailable));
  server_.Run("ALTER SYSTEM RESET default_transaction_read_only");
  server_.Run("SELECT pg_reload_conf()");
  EXPECT_TRUE(Eventually([&] { return Claim(*store, ClaimOf("b")).ok(); }));
}

// The clock of the database is read in the database, whatever the session's time zone.
TEST_F(PostgresFailures, StoreClockIsTheDatabasesInUtc) {
  server_.Run("ALTER DATABASE postgres SET timezone = 'Pacific/Apia'");
  const auto store = StoreAt(server_.Url());
  const int64_t before = Now().ms;
  const auto ping = store->Ping();
  const auto lease = Claim(*store, ClaimOf("a"));
  const int64_t after = Now().ms;
  ASSERT_THAT(ping, IsOk());
  ASSERT_THAT(lease, IsOk());
  for (const StoreTime time : {*ping, lease->store_time, lease->row.claimed_at}) {
    EXPECT_GE(time.ms, before - 1);
    EXPECT_LE(time.ms, after + 1);
  }
  EXPECT_EQ(store->GetCapabilities().clock_source, "database");
  EXPECT_TRUE(store->GetCapabilities().durable);
}

TEST_F(PostgresFailures, ServerThatMayLoseCommitsIsNotCalledDurable) {
  server_.Run("ALTER DATABASE postgres SET synchronous_commit = off");
  EXPECT_FALSE(StoreAt(server_.Url())->GetCapabilities().durable);
}

}  // namespace
}  // namespace snowlease::testing
