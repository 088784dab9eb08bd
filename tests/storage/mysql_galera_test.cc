#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "storage/errors.h"
#include "storage/mysql/mysql_lease_store.h"
#include "tests/testing/matchers.h"
#include "tests/testing/mysql_server.h"

// A Galera cluster of three nodes, whose row locks do not reach each other.

namespace snowlease::testing {
namespace {

using namespace storage;  // NOLINT: speaks to the store throughout

constexpr char kOrders[] = "orders";
constexpr int kNodes = 3;

class GaleraCluster {
 public:
  GaleraCluster() {
    for (int node = 0; node < kNodes; ++node) group_ports_.push_back(FreePort());
    for (int node = 0; node < kNodes; ++node) {
      nodes_.push_back(std::make_unique<MysqlServer>(SettingsOf(node)));
    }
  }

  MysqlServer& node(int number) { return *nodes_[number]; }

  // All nodes, the given one first.
  MysqlOptions Options(const std::string& database, int first) {
    MysqlOptions options = node(first).Options(database);
    for (int i = 1; i < kNodes; ++i) {
      options.hosts.push_back(node((first + i) % kNodes).Options(database).hosts.front());
    }
    return options;
  }

 private:
  MysqlServer::Settings SettingsOf(int node) const {
    std::string members;
    for (const int port : group_ports_) {
      members += (members.empty() ? "gcomm://127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    }
    const std::string group = "127.0.0.1:" + std::to_string(group_ports_[node]);
    MysqlServer::Settings settings;
    settings.flags = {"--binlog-format=ROW",
                      "--innodb-autoinc-lock-mode=2",
                      "--wsrep-on=ON",
                      "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
                      "--wsrep-cluster-name=snowlease",
                      "--wsrep-cluster-address=" + members,
                      "--wsrep-node-name=node" + std::to_string(node),
                      "--wsrep-node-address=" + group,
                      "--wsrep-sst-method=rsync",
                      "--wsrep-sst-receive-address=127.0.0.1:" + std::to_string(FreePort()),
                      "--wsrep-provider-options=gcache.size=32M;gmcast.listen_addr=tcp://" + group +
                          ";ist.recv_addr=127.0.0.1:" + std::to_string(FreePort())};
    if (node == 0) settings.first_flags = {"--wsrep-new-cluster"};
    settings.joins = node > 0;
    return settings;
  }

  std::vector<int> group_ports_;
  std::vector<std::unique_ptr<MysqlServer>> nodes_;
};

ClaimSpec ClaimOf(const std::string& instance) {
  static std::atomic<uint64_t> claims{0};
  ClaimSpec spec;
  spec.name_space = kOrders;
  spec.instance_id = instance;
  spec.machine_bits = 6;
  const uint64_t number = ++claims;
  std::copy_n(reinterpret_cast<const uint8_t*>(&number), sizeof(number),
              spec.incarnation_id.begin());
  spec.client_time = ClientTime{Clock::Real()->Now().ms};
  spec.max_wait = Millis(500);
  return spec;
}

// What callers were told: who has which token, and the last window of each grant.
class Acknowledged {
 public:
  void Add(const Lease& lease) {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(lease.row.machine_id, lease.row.token);
    const auto [it, is_new] = grants_.try_emplace(key, lease);
    if (!is_new) {
      EXPECT_EQ(it->second.row.instance_id, lease.row.instance_id) << "one token for two instances";
      it->second = lease;
    }
  }
  // Windows of one machine id do not overlap (W1), and the store knows all of it.
  void Check(LeaseStore& store) {
    const std::lock_guard lock(mutex_);
    const Lease* before = nullptr;
    for (const auto& [key, lease] : grants_) {
      if (before != nullptr && before->row.machine_id == lease.row.machine_id) {
        EXPECT_GE(lease.row.floor, before->row.watermark);
      }
      before = &lease;
      const auto kept = store.GetLease(kOrders, key.first);
      ASSERT_THAT(kept, IsOk());
      EXPECT_GE(kept->lease.row.token, key.second);
      EXPECT_GE(kept->lease.row.watermark, lease.row.watermark);
    }
  }
  size_t size() {
    const std::lock_guard lock(mutex_);
    return grants_.size();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, Lease> grants_;
};

class Load {
 public:
  Load(LeaseStore* store, std::string name, Acknowledged* acknowledged)
      : store_(*store),
        name_(std::move(name)),
        acknowledged_(*acknowledged),
        thread_([this] { Run(); }) {}
  ~Load() {
    stop_ = true;
    thread_.join();
  }

  int done() const { return done_; }

 private:
  void Run() {
    for (int i = 0; !stop_; ++i) {
      const ClaimSpec claim = ClaimOf(name_ + std::to_string(i));
      auto lease = Insisting<absl::StatusOr<Lease>>([&] {
        return std::move(store_.Claim({&claim, 1}, {}).front());
      });
      for (int renewals = 0; lease.ok() && renewals < 3; ++renewals) {
        acknowledged_.Add(*lease);
        ++done_;
        lease = Renewed(*lease);
      }
      if (!lease.ok()) {
        EXPECT_THAT(lease, HasReason(Reason::kStoreUnavailable)) << "only while it stops";
        continue;
      }
      acknowledged_.Add(*lease);
      const ReleaseSpec release{KeyOf(*lease), lease->row.watermark, false};
      const auto released = Insisting<absl::Status>([&] {
        return store_.Release({&release, 1}, {}).front();
      });
      EXPECT_TRUE(released.ok() || stop_) << released;
    }
  }
  static GrantKey KeyOf(const Lease& lease) {
    return {kOrders, lease.row.machine_id, *lease.row.instance_id, lease.row.token};
  }
  absl::StatusOr<Lease> Renewed(const Lease& lease) {
    return Insisting<absl::StatusOr<Lease>>([&] {
      const ClientTime now{Clock::Real()->Now().ms};
      const RenewSpec spec{KeyOf(lease), now, now};
      return std::move(store_.Renew({&spec, 1}, {}).front());
    });
  }
  // As clients do: the same again while the store is not available.
  template <typename Result, typename Call>
  Result Insisting(Call call) {
    while (true) {
      Result result = call();
      absl::Status status;
      if constexpr (std::is_same_v<Result, absl::Status>) {
        status = result;
      } else {
        status = result.status();
      }
      const Reason reason = ReasonOf(status);
      const bool again = reason == Reason::kStoreUnavailable || reason == Reason::kStoreTimeout;
      if (!status.ok() && !again) ADD_FAILURE() << status;
      if (!again || stop_) return result;
    }
  }

  LeaseStore& store_;
  const std::string name_;
  Acknowledged& acknowledged_;
  std::atomic<bool> stop_{false};
  std::atomic<int> done_{0};
  std::thread thread_;
};

// Two servers that write to different nodes; the first one's node is killed and joins again.
TEST(MysqlGalera, NodeIsKilledAndJoinsAgainUnderLoadOfTwoServers) {
  GaleraCluster cluster;
  const std::string database = cluster.node(0).NewDatabase();
  MysqlLeaseStore first(cluster.Options(database, 0), {}, Clock::Real());
  ASSERT_THAT(first.Migrate(MigrateMode::kAuto), IsOk());
  MysqlLeaseStore second(cluster.Options(database, 1), {}, Clock::Real());
  ASSERT_THAT(second.Migrate(MigrateMode::kAuto), IsOk());
  EXPECT_EQ(first.StoreId(), second.StoreId());

  Acknowledged acknowledged;
  {
    Load loads[] = {{&first, "first-a", &acknowledged},
                    {&first, "first-b", &acknowledged},
                    {&second, "second-a", &acknowledged},
                    {&second, "second-b", &acknowledged}};
    const auto all_go_on = [&loads](int steps) {
      std::vector<int> before;
      for (const Load& load : loads) before.push_back(load.done());
      return EventuallyTrue([&] {
        for (int i = 0; i < 4; ++i) {
          if (loads[i].done() < before[i] + steps) return false;
        }
        return true;
      });
    };
    EXPECT_TRUE(all_go_on(50));
    cluster.node(0).Kill();
    EXPECT_TRUE(all_go_on(50)) << "with two nodes";
    cluster.node(0).Start();
    EXPECT_TRUE(all_go_on(50)) << "with three nodes again";
  }
  EXPECT_GT(acknowledged.size(), 100u);
  acknowledged.Check(second);
  MysqlLeaseStore again(cluster.node(0).Options(database), {}, Clock::Real());
  ASSERT_THAT(again.Migrate(MigrateMode::kCheck), IsOk());
  acknowledged.Check(again);
}

}  // namespace
}  // namespace snowlease::testing
