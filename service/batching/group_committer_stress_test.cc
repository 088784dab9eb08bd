#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "service/batching/committer_test_support.h"
#include "service/batching/group_committer.h"
#include "service/batching/scripted_store.h"

// Many threads at once, on the real clock.

namespace snowlease::service {
namespace {

using testing::ReleaseOf;
using testing::RenewOf;

TEST(GroupCommitterStress, EveryCallOfManyThreadsIsAnsweredOnceWithItsOwnAnswer) {
  testing::ScriptedStore store;
  store.SetConnections(3);
  GroupCommitter committer(&store, storage::Clock::Real(), GroupCommitterOptions{.max_batch = 16},
                           nullptr);
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kCalls = 2000;
  std::vector<std::atomic<int>> answers(kThreads * kCalls);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kCalls; ++i) {
        const uint32_t id = t * kCalls + i;
        const auto lease_done = [&, id](const absl::StatusOr<storage::Lease>& lease) {
          ++answers[id];
          if (lease.ok() && lease->row.machine_id != id) ++wrong;
        };
        if (i % 3 == 0) {
          committer.Release(ReleaseOf(id), storage::SteadyTime::max(),
                            [&, id](absl::Status) { ++answers[id]; });
        } else {
          committer.Renew(RenewOf(id), storage::SteadyTime::max(), lease_done);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  committer.Drain();
  for (const auto& count : answers) EXPECT_EQ(count.load(), 1);
  EXPECT_EQ(wrong.load(), 0);
}

TEST(GroupCommitterStress, CallsDuringADrainAreServedOrRefusedButAlwaysAnswered) {
  testing::ScriptedStore store;
  GroupCommitter committer(&store, storage::Clock::Real(), GroupCommitterOptions{}, nullptr);
  std::atomic<int> served{0};
  std::atomic<int> refused{0};
  std::atomic<bool> stop{false};
  std::vector<int> sent(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < sent.size(); ++t) {
    threads.emplace_back([&, t] {
      while (!stop.load()) {
        ++sent[t];
        committer.Renew(RenewOf(static_cast<uint32_t>(sent[t])), storage::SteadyTime::max(),
                        [&](const absl::StatusOr<storage::Lease>& lease) {
                          ++(lease.ok() ? served : refused);
                        });
      }
    });
  }
  while (served.load() < 100) std::this_thread::yield();
  committer.Drain();
  const int served_by_drain = served.load();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.load(), served_by_drain);
  EXPECT_EQ(served.load() + refused.load(), sent[0] + sent[1] + sent[2]);
}

}  // namespace
}  // namespace snowlease::service
