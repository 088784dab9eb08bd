// A1: an acknowledged change is durable, whatever happens to process or disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <random>

#include "storage/errors.h"
#include "storage/sqlite/sqlite_test_support.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using ::testing::IsEmpty;

// What a child says of each change after the store has acknowledged it.
struct Acknowledged {
  uint32_t machine_id;
  uint32_t instance;
  uint64_t token;
  int64_t watermark;
  bool released;
};

[[noreturn]] void ServeUntilKilled(SqliteFolder& folder, int answers) {
  SqliteOptions options = folder.Options();
  options.wal_autocheckpoint = 16;  // so that the end often finds a copy under way
  const auto store = folder.Ready(options);
  const auto acknowledge = [answers](const Lease& lease, uint32_t instance, bool released) {
    const Acknowledged said = {lease.row.machine_id, instance, lease.row.token,
                               lease.row.watermark.ms, released};
    if (write(answers, &said, sizeof(said)) != sizeof(said)) _exit(1);
  };
  for (uint32_t next = 0;; next += 8) {
    std::vector<ClaimSpec> claims;
    for (uint32_t i = 0; i < 8; ++i) {
      claims.push_back(ClaimOf("orders", std::to_string(next + i), folder.clock()));
    }
    const auto claimed = store->Claim(claims, {});
    for (uint32_t i = 0; i < 8; ++i) acknowledge(claimed[i].value(), next + i, false);
    folder.clock().Advance(Millis(5));
    for (uint32_t i = 0; i < 8; ++i) {
      const RenewSpec renew = RenewOf(claimed[i].value(), folder.clock());
      acknowledge(store->Renew({{renew}}, {}).front().value(), next + i, false);
      if (i % 2 == 0) continue;
      if (!store->Release({{ReleaseSpec{renew.grant, renew.last_timestamp}}}, {}).front().ok()) {
        _exit(1);
      }
      Lease ended = claimed[i].value();
      ended.row.watermark = renew.last_timestamp;
      acknowledge(ended, next + i, true);
    }
  }
}

// The last word on each machine id until the child was killed, after `count` words.
std::map<uint32_t, Acknowledged> KillAfter(SqliteFolder& folder, int count) {
  int answers[2];
  if (pipe(answers) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(answers[0]);
    ServeUntilKilled(folder, answers[1]);
  }
  close(answers[1]);
  std::map<uint32_t, Acknowledged> last;
  Acknowledged said{};
  for (int i = 0; read(answers[0], &said, sizeof(said)) == sizeof(said); ++i) {
    last[said.machine_id] = said;
    if (i == count) kill(child, SIGKILL);
  }
  close(answers[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  return last;
}

TEST(SqliteCrash, NothingAcknowledgedIsLostByKillMinusNine) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 6; ++round) {
    SqliteFolder folder;
    const auto last = KillAfter(folder, std::uniform_int_distribution(50, 1'500)(random));
    const auto store = folder.Ready();
    EXPECT_GT(last.size(), 10u);
    uint64_t held = 0;
    uint64_t free = 0;
    const auto leases = store->ListLeases("orders", {}, 0, 100'000).value();
    for (const LeaseDetail& detail : leases) {
      const LeaseRow& row = detail.row;
      (row.state == LeaseState::kHeld ? held : free) += 1;
      const auto said = last.find(row.machine_id);
      if (said == last.end()) continue;  // written, and killed before it was told
      EXPECT_GE(row.token, said->second.token);
      EXPECT_GE(row.watermark.ms, said->second.watermark);
      if (row.token == said->second.token && said->second.released) {
        EXPECT_EQ(row.state, LeaseState::kFree);
      }
      if (row.state == LeaseState::kHeld && row.token == said->second.token) {
        EXPECT_EQ(row.instance_id, std::to_string(said->second.instance));
      }
    }
    EXPECT_GE(held + free, last.size());
    // The counters are of the same transactions as the rows.
    EXPECT_EQ(store->GetNamespace("orders")->row.counts.held, held);
    EXPECT_EQ(store->GetNamespace("orders")->row.counts.free, free);
  }
}

// A disk that can be filled, for a child process.
class SmallDisk {
 public:
  virtual ~SmallDisk() = default;
  virtual void MakeRoom() = 0;
};

class SmallFileSystem final : public SmallDisk {
 public:
  // False where the kernel does not let us mount.
  static bool Mount(const std::filesystem::path& folder) {
    const bool alone = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    return alone && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("none", folder.c_str(), "tmpfs", 0, "size=1m,mode=0777") == 0;
  }
  explicit SmallFileSystem(const std::filesystem::path& folder) : filler_(folder / "filler") {
    std::ofstream(filler_) << std::string(300'000, 'x');
  }
  void MakeRoom() override { std::filesystem::remove(filler_); }

 private:
  const std::filesystem::path filler_;
};

class FileSizeLimit final : public SmallDisk {
 public:
  FileSizeLimit() {
    signal(SIGXFSZ, SIG_IGN);
    Limit(300'000);
  }
  void MakeRoom() override { Limit(RLIM_INFINITY); }

 private:
  static void Limit(rlim_t most) {
    struct rlimit limit {};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = most;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("setrlimit");
  }
};

// Claims in batches of eight until one fails; answers its results.
BatchResult<Lease> ClaimUntilFailure(LeaseStore& store, const Clock& clock, uint64_t& claimed) {
  while (true) {
    std::vector<ClaimSpec> specs;
    for (uint64_t i = 0; i < 8; ++i) {
      specs.push_back(ClaimOf("orders", "instance-" + std::to_string(claimed + i), clock));
      specs.back().metadata = {{"note", std::string(500, 'n')}};
    }
    auto results = store.Claim(specs, {});
    for (const auto& result : results) {
      if (!result.ok()) return results;
    }
    claimed += 8;
    if (claimed > 4'000) throw std::runtime_error("the disk never was full");
  }
}

std::string FillAndRecover(SqliteFolder& folder, SmallDisk& disk) {
  const auto store = folder.Ready();
  uint64_t claimed = 0;
  const auto failed = ClaimUntilFailure(*store, folder.clock(), claimed);
  std::string text;
  for (const auto& result : failed) {
    if (ReasonOf(result.status()) != Reason::kStoreUnavailable ||
        result.status().ToString().find("free disk space") == std::string::npos) {
      text += "failed with " + result.status().ToString() + "\n";
    }
  }
  const auto held = [&] { return store->GetNamespace("orders")->row.counts.held; };
  if (claimed == 0 || held() != claimed) text += "the failed batch left something behind\n";
  if (!store->Ping().ok()) text += "reads fail\n";
  disk.MakeRoom();
  const auto again = store->Claim({{ClaimOf("orders", "after", folder.clock())}}, {});
  if (!again.front().ok()) text += "no recovery: " + again.front().status().ToString() + "\n";
  if (held() != claimed + 1) text += "a claim was lost\n";
  return text;
}

TEST(SqliteCrash, FullDiskUndoesTheBatchAndIsOverWhenThereIsRoom) {
  SqliteFolder folder;
  EXPECT_THAT(RunInChild([&]() -> std::string {
                // Where nothing can be mounted, a limit on the size of files is the next best.
                if (!SmallFileSystem::Mount(folder.folder())) {
                  FileSizeLimit limit;
                  return FillAndRecover(folder, limit);
                }
                SmallFileSystem disk(folder.folder());
                return FillAndRecover(folder, disk);
              }),
              IsEmpty());
}

TEST(SqliteCrash, ExceededQuotaUndoesTheBatchAndIsOverWhenThereIsRoom) {
  SqliteFolder folder;
  EXPECT_THAT(RunInChild([&] {
                FileSizeLimit limit;
                return FillAndRecover(folder, limit);
              }),
              IsEmpty());
}

}  // namespace
}  // namespace snowlease::storage
