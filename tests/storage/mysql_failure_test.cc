#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "storage/errors.h"
#include "storage/mysql/mysql_lease_store.h"
#include "tests/testing/commit_cutter.h"
#include "tests/testing/matchers.h"
#include "tests/testing/mysql_server.h"

// What goes wrong around a server: it is killed, closes connections, becomes read-only,
// refuses locks. The store's clocks are the real ones.

namespace snowlease::testing {
namespace {

using namespace storage;  // NOLINT: speaks to the store throughout
using ::testing::HasSubstr;

constexpr char kOrders[] = "orders";

ClaimSpec ClaimOf(const std::string& instance) {
  static std::atomic<uint64_t> claims{0};
  ClaimSpec spec;
  spec.name_space = kOrders;
  spec.instance_id = instance;
  const uint64_t number = ++claims;
  std::copy_n(reinterpret_cast<const uint8_t*>(&number), sizeof(number),
              spec.incarnation_id.begin());
  spec.client_time = ClientTime{Clock::Real()->Now().ms};
  spec.max_wait = Millis(500);
  return spec;
}

RenewSpec RenewOf(const Lease& lease) {
  const ClientTime now{Clock::Real()->Now().ms};
  return {{kOrders, lease.row.machine_id, *lease.row.instance_id, lease.row.token}, now, now};
}

class MysqlFailure : public ::testing::Test {
 protected:
  explicit MysqlFailure(const MysqlServer::Settings& settings = MysqlServer::Settings())
      : server_(settings), database_(server_.NewDatabase()) {
    store_ = Opened(server_.Options(database_));
  }

  std::unique_ptr<MysqlLeaseStore> Opened(const MysqlOptions& options) {
    auto store = std::make_unique<MysqlLeaseStore>(options, StoreOptions(), Clock::Real());
    EXPECT_THAT(store->Migrate(MigrateMode::kAuto), IsOk());
    return store;
  }
  absl::StatusOr<Lease> Claim(const ClaimSpec& spec) {
    return std::move(store_->Claim({&spec, 1}, {}).front());
  }
  absl::StatusOr<Lease> Renew(const Lease& lease) {
    const RenewSpec spec = RenewOf(lease);
    return std::move(store_->Renew({&spec, 1}, {}).front());
  }

  MysqlServer server_;
  const std::string database_;
  std::unique_ptr<MysqlLeaseStore> store_;
};

// wait_timeout closes what is idle; nobody is told.
TEST_F(MysqlFailure, ClosedConnectionsAreMadeAnewWithoutAnError) {
  const auto lease = Claim(ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  for (int i = 0; i < 5; ++i) {
    server_.CloseConnections();
    ASSERT_THAT(Renew(*lease), IsOk());
    server_.CloseConnections();
    ASSERT_THAT(store_->GetLease(kOrders, lease->row.machine_id), IsOk());
    ASSERT_THAT(store_->Ping(), IsOk());
  }
}

TEST_F(MysqlFailure, StoppedServerIsUnavailableAndComesBackByItself) {
  const auto lease = Claim(ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  server_.Stop();
  EXPECT_THAT(Renew(*lease), HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(Claim(ClaimOf("b")), HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(store_->Ping(), HasReason(Reason::kStoreUnavailable));
  server_.Start();
  EXPECT_THAT(Renew(*lease), IsOk());
  EXPECT_THAT(Claim(ClaimOf("b")), IsOk());
  EXPECT_THAT(store_->Ping(), IsOk());
}

// The server's data is on a real disk here.
class MysqlKill : public MysqlFailure {
 protected:
  MysqlKill() : MysqlFailure({.flags = {}, .time_zone = "", .in_memory = false}) {}
};

TEST_F(MysqlKill, NothingAcknowledgedIsLostAndCallersSeeUnavailable) {
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::atomic<int> unavailable{0};
  std::atomic<int> unexpected{0};
  std::atomic<int> renewals{0};
  std::mutex mutex;
  std::map<uint32_t, Lease> acknowledged;
  const auto load = [&](int thread) {
    for (int i = 0; !stop; ++i) {
      auto lease = Claim(ClaimOf(std::to_string(thread) + "-" + std::to_string(i)));
      for (int j = 0; j < 5 && lease.ok(); ++j) {
        {
          const std::lock_guard lock(mutex);
          acknowledged[lease->row.machine_id] = *lease;
        }
        ++renewals;
        lease = Renew(*lease);
      }
      if (lease.ok()) continue;
      const Reason reason = ReasonOf(lease.status());
      ++(reason == Reason::kStoreUnavailable ? unavailable : unexpected);
      if (reason != Reason::kStoreUnavailable) ADD_FAILURE() << lease.status();
      if (i > 900) return;
    }
  };
  for (int round = 0; round < 3; ++round) {
    stop = false;
    const int before = renewals;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(load, round * kThreads + i);
    EXPECT_TRUE(EventuallyTrue([&] { return renewals > before + 100; }));
    server_.Kill();
    EXPECT_TRUE(EventuallyTrue([&] { return unavailable > round * 5; }));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    server_.Start();
    ASSERT_THAT(store_->Ping(), IsOk());
    for (const auto& [machine_id, lease] : acknowledged) {
      const auto kept = store_->GetLease(kOrders, machine_id);
      ASSERT_THAT(kept, IsOk());
      EXPECT_EQ(kept->lease.row.token, lease.row.token);
      EXPECT_EQ(kept->lease.row.instance_id, lease.row.instance_id);
      EXPECT_GE(*kept->lease.row.window_end, *lease.row.window_end);
      EXPECT_GE(kept->lease.row.watermark, lease.row.watermark);
    }
  }
  EXPECT_EQ(unexpected, 0);
}

// In doubt: it happened, and the caller is not told. Repeating the call is safe.
TEST_F(MysqlFailure, ConnectionCutAfterCommitIsInDoubtAndRepeatingIsSafe) {
  MysqlOptions options = server_.Options(database_);
  CommitCutter cutter(options.hosts.front().port);
  options.hosts.front().port = cutter.port();
  store_ = Opened(options);

  const ClaimSpec claim = ClaimOf("a");
  cutter.CutNextCommit();
  EXPECT_THAT(Claim(claim), HasReason(Reason::kStoreUnavailable));
  ASSERT_EQ(cutter.cuts(), 1);
  const auto lease = Claim(claim);
  ASSERT_THAT(lease, IsOk());
  EXPECT_EQ(lease->row.token, 1u) << "the grant that was made";
  EXPECT_EQ(lease->row.machine_id, 0u);

  cutter.CutNextCommit();
  EXPECT_THAT(Renew(*lease), HasReason(Reason::kStoreUnavailable));
  ASSERT_EQ(cutter.cuts(), 2);
  const auto renewed = store_->GetLease(kOrders, 0);
  ASSERT_THAT(renewed, IsOk());
  EXPECT_TRUE(renewed->lease.row.used);
  EXPECT_THAT(Renew(*lease), IsOk());

  const ReleaseSpec release{RenewOf(*lease).grant, ClientTime{0}, false};
  cutter.CutNextCommit();
  EXPECT_THAT(store_->Release({&release, 1}, {}).front(), HasReason(Reason::kStoreUnavailable));
  ASSERT_EQ(cutter.cuts(), 3);
  EXPECT_THAT(store_->Release({&release, 1}, {}).front(), IsOk());
  const auto space = store_->GetNamespace(kOrders);
  ASSERT_THAT(space, IsOk());
  EXPECT_EQ(space->row.counts.free, 1u);
  EXPECT_EQ(space->row.counts.held, 0u);
}

// As after a failover, when the old server comes back as a replica.
TEST_F(MysqlFailure, ReadOnlyServerIsUnavailableUntilItTakesWritesAgain) {
  const auto lease = Claim(ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  auto root = server_.Root();
  root.Execute("SET GLOBAL read_only = 1");
  const auto refused = Renew(*lease);
  EXPECT_THAT(refused, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(refused.status().ToString(), HasSubstr("read-only"));
  root.Execute("SET GLOBAL read_only = 0");
  EXPECT_THAT(Renew(*lease), IsOk());
}

TEST_F(MysqlFailure, ReadOnlyHostIsPassedOver) {
  MysqlServer replica;
  replica.Run("CREATE DATABASE " + database_);
  MysqlOptions options = replica.Options(database_);
  replica.Run("SET GLOBAL read_only = 1");
  options.hosts.push_back(server_.Options(database_).hosts.front());
  const auto store = Opened(options);
  EXPECT_EQ(store->StoreId(), store_->StoreId());
}

TEST_F(MysqlFailure, LockThatIsHeldTooLongIsATimeoutAndNothingHappened) {
  const auto lease = Claim(ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  MysqlOptions options = server_.Options(database_);
  options.lock_timeout = Millis(1000);
  store_ = Opened(options);
  {
    auto other = server_.Root(database_);
    other.Begin(storage::mysql::Connection::Kind::kWrite);
    other.Execute("UPDATE snowlease_lease SET used = used");
    EXPECT_THAT(Renew(*lease), HasReason(Reason::kStoreTimeout));
    // Somebody else's lock is nothing to other leases.
    EXPECT_THAT(Claim(ClaimOf("b")), IsOk());
    other.Rollback();
  }
  const auto after = store_->GetLease(kOrders, lease->row.machine_id);
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(after->lease.row.renewed_at, lease->row.renewed_at);
  EXPECT_THAT(Renew(*lease), IsOk());
}

// A renewal does not lock its namespace. One that is under way while the namespace is
// deleted is waited for: its window must not be forgotten.
TEST_F(MysqlFailure, DeletingANamespaceSeesTheRenewalThatItWaitedFor) {
  const auto lease = Claim(ClaimOf("a"));
  ASSERT_THAT(lease, IsOk());
  server_.Root(database_).Execute("UPDATE snowlease_lease SET renewed_at_ms = 0");
  auto renewal = server_.Root(database_);
  renewal.Begin(storage::mysql::Connection::Kind::kWrite);
  renewal.Execute("UPDATE snowlease_lease SET renewed_at_ms = " +
                  std::to_string(lease->row.renewed_at.ms));
  absl::Status deleted;
  std::thread operator_thread([&] {
    deleted = store_->DeleteNamespace(kOrders, {"ada", "not used any more"});
  });
  auto root = server_.Root();
  EXPECT_TRUE(EventuallyTrue([&] {
    // INNODB_LOCK_WAITS would answer from a cache for as long as it is asked often.
    auto waits = root.Query(
        "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.GLOBAL_STATUS "
        "WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'");
    return waits.Next() && waits.TakeInt() > 0;
  }));
  renewal.Commit();
  operator_thread.join();
  EXPECT_THAT(deleted, HasReason(Reason::kNamespaceNotEmpty));
  EXPECT_THAT(Renew(*lease), IsOk());
}

// F33: claims, renewals and releases of everybody, in batches, by two stores at once.
TEST_F(MysqlFailure, NoDeadlockReachesACaller) {
  MysqlOptions options = server_.Options(database_);
  options.connections = 4;
  const auto first = Opened(options);
  const auto second = Opened(options);
  const auto work = [&](int thread) {
    MysqlLeaseStore& store = thread % 2 == 0 ? *first : *second;
    for (int round = 0; round < 25; ++round) {
      std::vector<ClaimSpec> claims;
      for (int i = 0; i < 20; ++i) {
        claims.push_back(ClaimOf(std::to_string(thread) + "-" + std::to_string(i)));
        claims.back().machine_bits = 12;
        claims.back().name_space = i % 2 == 0 ? kOrders : "carts";
      }
      std::vector<RenewSpec> renewals;
      std::vector<ReleaseSpec> releases;
      for (const auto& lease : store.Claim(claims, {})) {
        ASSERT_THAT(lease, IsOk());
        const ClientTime now{Clock::Real()->Now().ms};
        const GrantKey grant{lease->row.name_space, lease->row.machine_id, *lease->row.instance_id,
                             lease->row.token};
        renewals.insert(renewals.begin(), {grant, now, now});
        releases.push_back({grant, lease->row.floor, false});
      }
      for (const auto& renewed : store.Renew(renewals, {})) ASSERT_THAT(renewed, IsOk());
      for (const auto& released : store.Release(releases, {})) ASSERT_THAT(released, IsOk());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(MysqlFailure, ServerThatIsNotThereIsUnavailableAndPasswordsAreNotTold) {
  MysqlOptions options = server_.Options(database_);
  options.password = "wrong-secret";
  const absl::Status refused =
      MysqlLeaseStore(options, {}, Clock::Real()).Migrate(MigrateMode::kAuto);
  EXPECT_THAT(refused, HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(refused.ToString(), ::testing::Not(HasSubstr("wrong-secret")));
  options = server_.Options("snowlease_none");
  EXPECT_THAT(MysqlLeaseStore(options, {}, Clock::Real()).Migrate(MigrateMode::kAuto).ToString(),
              HasSubstr("create the database"));
  options.password_file = "/nonexistent/password";
  EXPECT_THAT(MysqlLeaseStore(options, {}, Clock::Real()).Migrate(MigrateMode::kAuto).ToString(),
              HasSubstr("password_file /nonexistent/password"));
  server_.Stop();
  EXPECT_THAT(MysqlLeaseStore(options, {}, Clock::Real()).Migrate(MigrateMode::kAuto),
              HasReason(Reason::kStoreUnavailable));
}

}  // namespace
}  // namespace snowlease::testing
