// What is SQLite's own about the store; the rules are tested by tests/storage.

#include "storage/sqlite/sqlite_lease_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "storage/errors.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/sqlite_test_support.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SqliteStore : public ::testing::Test {
 protected:
  Lease MustClaim(LeaseStore& store, const std::string& name_space, const std::string& instance) {
    const auto result = store.Claim({{ClaimOf(name_space, instance, folder_.clock())}}, {});
    return result.front().value();
  }
  absl::Status Renew(LeaseStore& store, const Lease& lease, const CallOptions& options = {}) {
    return store.Renew({{RenewOf(lease, folder_.clock())}}, options).front().status();
  }
  // Another program on the same file.
  Connection Outsider() { return {folder_.path(), Connection::Access::kReadWrite}; }

  SqliteFolder folder_;
};

TEST_F(SqliteStore, EmptyBatchesAnswerNothing) {
  const auto store = folder_.Ready();
  EXPECT_THAT(store->Claim({}, {}), IsEmpty());
  EXPECT_THAT(store->Renew({}, {}), IsEmpty());
  EXPECT_THAT(store->Release({}, {}), IsEmpty());
  EXPECT_THAT(store->RaiseWatermark({}, {}), IsEmpty());
}

TEST_F(SqliteStore, RefusedElementDoesNotUndoItsNeighbours) {
  const auto store = folder_.Ready();
  MustClaim(*store, "orders", "zero");
  std::vector<ClaimSpec> specs = {ClaimOf("orders", "one", folder_.clock()),
                                  ClaimOf("orders", "two", folder_.clock()),
                                  ClaimOf("orders", "three", folder_.clock())};
  specs[1].machine_bits = 20;  // more than the namespace has
  const auto results = store->Claim(specs, {});
  EXPECT_THAT(results[0], IsOk());
  EXPECT_THAT(results[1], HasReason(Reason::kNamespacePolicy));
  EXPECT_THAT(results[2], IsOk());
  EXPECT_EQ(store->GetNamespace("orders")->row.counts.held, 3u);
}

TEST_F(SqliteStore, FailureOfTheStoreUndoesTheWholeBatch) {
  const auto store = folder_.Ready();
  MustClaim(*store, "orders", "zero");
  Outsider().Execute(
      "CREATE TRIGGER fault BEFORE INSERT ON snowlease_lease WHEN new.instance_id = 'bad' "
      "BEGIN SELECT RAISE(ABORT, 'fault'); END");
  std::vector<ClaimSpec> specs = {ClaimOf("orders", "one", folder_.clock()),
                                  ClaimOf("orders", "bad", folder_.clock()),
                                  ClaimOf("orders", "two", folder_.clock())};
  EXPECT_THAT(store->Claim(specs, {}), Each(HasReason(Reason::kInternal)));
  EXPECT_EQ(store->GetNamespace("orders")->row.counts.held, 1u);
  EXPECT_THAT(store->ListLeases("orders", {}, 0, 10).value(), SizeIs(1));
  Outsider().Execute("DROP TRIGGER fault");
  EXPECT_THAT(store->Claim(specs, {}), Each(IsOk()));
  // The counters in memory were undone as well.
  EXPECT_EQ(store->GetNamespace("orders")->row.counts.held, 4u);
}

// N1, and names that SQL might misread.
TEST_F(SqliteStore, NamespacesWithLikeNamesNeverMeet) {
  const auto store = folder_.Ready();
  const std::vector<std::string> names = {"'; DROP TABLE snowlease_lease; --",
                                          "A",
                                          "a",
                                          "a ",
                                          "a%",
                                          "a.b",
                                          "a__b",
                                          "ab",
                                          std::string(200, 'x'),
                                          "\xF0\x9F\x90\x9D"};
  for (const std::string& name : names) {
    EXPECT_EQ(MustClaim(*store, name, "Same").row.machine_id, 0u) << name;
    EXPECT_EQ(MustClaim(*store, name, "same").row.machine_id, 1u) << name;
  }
  std::vector<std::string> listed;
  const auto rows = store->ListNamespaces("", 100);
  for (const NamespaceRow& row : rows.value()) {
    EXPECT_EQ(row.counts.held, 2u) << row.name;
    listed.push_back(row.name);
  }
  EXPECT_EQ(listed, names);  // in the order of their bytes
  EXPECT_THAT(store->ListNamespaces("a%", 2).value(), SizeIs(2));
  EXPECT_EQ(store->ListNamespaces("a%", 1)->front().name, "a.b");
}

TEST_F(SqliteStore, LockedDatabaseCostsTheCallerNoMoreThanItsDeadline) {
  const auto store = folder_.Ready();
  const Lease lease = MustClaim(*store, "orders", "one");
  Connection outsider = Outsider();
  {
    const Transaction locked(&outsider, Transaction::Kind::kWrite);
    const SteadyTime before = Clock::Real()->SteadyNow();
    CallOptions options;
    options.deadline = folder_.clock().SteadyNow() + Millis(50);
    EXPECT_THAT(Renew(*store, lease, options), HasReason(Reason::kStoreTimeout));
    EXPECT_LT(Clock::Real()->SteadyNow() - before, Millis(3'000));
  }
  EXPECT_THAT(Renew(*store, lease), IsOk());
}

TEST_F(SqliteStore, CallAfterItsDeadlineDoesNothing) {
  const auto store = folder_.Ready();
  CallOptions options;
  options.deadline = folder_.clock().SteadyNow();
  const std::vector<ClaimSpec> specs(3, ClaimOf("orders", "one", folder_.clock()));
  EXPECT_THAT(store->Claim(specs, options), Each(HasReason(Reason::kStoreTimeout)));
  EXPECT_THAT(store->GetNamespace("orders"), HasReason(Reason::kNotFound));
}

TEST_F(SqliteStore, ClockIsReadWhenTheLockIsHeld) {
  SqliteOptions options = folder_.Options();
  std::atomic<int64_t> store_now{folder_.clock().Now().ms};
  options.store_clock = [&] { return StoreTime{store_now.load()}; };
  const auto store = folder_.Ready(options);
  const Lease lease = MustClaim(*store, "orders", "one");
  Connection outsider = Outsider();
  std::future<int64_t> renewed_at;
  {
    const Transaction locked(&outsider, Transaction::Kind::kWrite);
    std::promise<void> started;
    renewed_at = std::async(std::launch::async, [&] {
      const std::vector<RenewSpec> specs = {RenewOf(lease, folder_.clock())};
      started.set_value();
      return store->Renew(specs, {}).front()->row.renewed_at.ms;
    });
    started.get_future().wait();
    // Time for the call to reach the lock, so that a clock read too early is seen.
    renewed_at.wait_for(std::chrono::milliseconds(100));
    store_now += 60'000;
  }
  EXPECT_EQ(renewed_at.get(), store_now.load());
}

TEST_F(SqliteStore, ReadsDoNotWaitForAWriter) {
  const auto store = folder_.Ready();
  const Lease lease = MustClaim(*store, "orders", "one");
  Connection outsider = Outsider();
  std::future<absl::Status> renewal;
  {
    const Transaction locked(&outsider, Transaction::Kind::kWrite);
    renewal = std::async(std::launch::async, [&] { return Renew(*store, lease); });
    EXPECT_THAT(store->GetWatermark("orders", 0), IsOk());
    EXPECT_THAT(store->GetNamespace("orders"), IsOk());
    EXPECT_THAT(store->ListNamespaces("", 10).value(), SizeIs(1));
    EXPECT_THAT(store->ListLeases("orders", {}, 0, 10).value(), SizeIs(1));
    EXPECT_THAT(store->GetLease("orders", 0), IsOk());
    EXPECT_THAT(store->FindOwner("orders", 0, lease.row.floor + Millis(1)).value(), SizeIs(1));
    EXPECT_THAT(store->ListAudit("orders", 10).value(), IsEmpty());
    EXPECT_THAT(store->Ping(), IsOk());
  }
  EXPECT_THAT(renewal.get(), IsOk());
}

TEST_F(SqliteStore, MetadataAndAuditSurviveAReopening) {
  {
    const auto store = folder_.Ready();
    ClaimSpec spec = ClaimOf("orders", "one", folder_.clock());
    spec.metadata = {{"pod", "a:b"}, {"\xF0\x9F\x90\x9D", std::string("x\0y", 3)}};
    const Lease lease = store->Claim({{spec}}, {}).front().value();
    ForceReleaseSpec force;
    force.name_space = "orders";
    force.expected_token = lease.row.token;
    ASSERT_THAT(store->ForceRelease(force, {"op", "because"}), IsOk());
  }
  const auto store = folder_.Ready();
  EXPECT_EQ(store->GetLease("orders", 0)->grants.at(0).metadata.at("\xF0\x9F\x90\x9D"),
            std::string("x\0y", 3));
  const auto audit = store->ListAudit("orders", 10).value();
  ASSERT_THAT(audit, SizeIs(1));
  EXPECT_EQ(audit[0].actor, "op");
  EXPECT_EQ(audit[0].reason, "because");
  EXPECT_EQ(audit[0].action, "ForceRelease");
}

TEST_F(SqliteStore, LogStaysShortUnderConstantLoad) {
  SqliteOptions options = folder_.Options();
  options.wal_autocheckpoint = 16;
  const auto store = folder_.Ready(options);
  const Lease lease = MustClaim(*store, "orders", "one");
  for (int i = 0; i < 1'000; ++i) {
    folder_.clock().Advance(Millis(1));  // what has not changed is not written
    ASSERT_THAT(Renew(*store, lease), IsOk());
  }
  // Uncopied it would hold 1,000 pages of 4,096 bytes.
  EXPECT_LT(std::filesystem::file_size(folder_.path() + "-wal"), 6u * 16 * 4096);
}

TEST_F(SqliteStore, LongLogIsCopiedBesideTheWriter) {
  SqliteOptions options = folder_.Options();
  options.wal_autocheckpoint = 8;
  const auto store = folder_.Ready(options);
  const auto before = std::filesystem::file_size(folder_.path());
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 200; ++i) {
    specs.push_back(ClaimOf("orders", std::to_string(i), folder_.clock()));
  }
  // The one commit is too short for the writer's own turn.
  EXPECT_THAT(store->Claim(specs, {}), Each(IsOk()));
  EXPECT_TRUE(
      Eventually([&] { return std::filesystem::file_size(folder_.path()) > before + 20'000; }));
}

TEST_F(SqliteStore, DatabaseIsOneFileAfterClosing) {
  {
    const auto store = folder_.Ready();
    MustClaim(*store, "orders", "one");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "-wal"));
  std::filesystem::copy(folder_.path(), folder_.path() + ".copy");
  SqliteOptions options = folder_.Options();
  options.path += ".copy";
  EXPECT_EQ(folder_.Ready(options)->GetNamespace("orders")->row.counts.held, 1u);
}

// The first failure of one instance's life: claim, renewals, reads, release; eight calls.
absl::Status LiveOnce(LeaseStore& store, const std::string& instance, const Clock& clock) {
  const auto claimed = store.Claim({{ClaimOf("orders", instance, clock)}}, {});
  if (!claimed.front().ok()) return claimed.front().status();
  const RenewSpec renew = RenewOf(*claimed.front(), clock);
  for (int i = 0; i < 2; ++i) {
    const auto renewed = store.Renew({{renew}}, {});
    if (!renewed.front().ok()) return renewed.front().status();
  }
  const auto raised = store.RaiseWatermark({{RaiseSpec{renew.grant, renew.client_time}}}, {});
  if (!raised.front().ok()) return raised.front().status();
  const auto watermark = store.GetWatermark("orders", renew.grant.machine_id);
  if (!watermark.ok()) return watermark.status();
  const auto history = store.GetLease("orders", renew.grant.machine_id);
  if (!history.ok()) return history.status();
  const auto owner = store.FindOwner("orders", renew.grant.machine_id, renew.client_time);
  if (!owner.ok()) return owner.status();
  return store.Release({{ReleaseSpec{renew.grant, renew.last_timestamp}}}, {}).front();
}

// F36, with another program that takes the write lock again and again.
TEST_F(SqliteStore, FiftyThreadsNeverSeeBusy) {
  constexpr int kThreads = 50;
  constexpr int kLives = 125;  // of eight operations
  SqliteOptions options = folder_.Options();
  options.busy_timeout = Millis(60'000);
  options.wal_autocheckpoint = 512;
  const auto store = folder_.Ready(options);
  std::atomic<bool> done{false};
  std::thread outsider([&] {
    Connection connection = Outsider();
    connection.SetBusyTimeout(Millis(60'000));
    while (!done) {
      Transaction transaction(&connection, Transaction::Kind::kWrite);
      connection.Execute("UPDATE snowlease_schema SET version = version");
      transaction.Commit();
      std::this_thread::yield();
    }
  });
  std::vector<std::future<absl::Status>> lives;
  for (int thread = 0; thread < kThreads; ++thread) {
    lives.push_back(std::async(std::launch::async, [&, thread] {
      absl::Status status;
      for (int life = 0; life < kLives && status.ok(); ++life) {
        status = LiveOnce(*store, "instance-" + std::to_string(thread), folder_.clock());
      }
      return status;
    }));
  }
  for (auto& life : lives) EXPECT_THAT(life.get(), IsOk());
  done = true;
  outsider.join();
  const LeaseCounts counts = store->GetNamespace("orders")->row.counts;
  EXPECT_EQ(counts.held, 0u);
  EXPECT_LE(counts.free, 50u);
}

TEST_F(SqliteStore, CapabilitiesTellWhatItKeeps) {
  const Capabilities capabilities = folder_.Ready()->GetCapabilities();
  EXPECT_EQ(capabilities.backend, "sqlite");
  EXPECT_EQ(capabilities.clock_source, "host");
  EXPECT_TRUE(capabilities.durable);
  EXPECT_TRUE(capabilities.transactional);
  EXPECT_EQ(capabilities.connections, 1);
}

}  // namespace
}  // namespace snowlease::storage
