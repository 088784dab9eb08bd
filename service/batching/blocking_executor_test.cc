#include "service/batching/blocking_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <memory>

namespace snowlease::service {
namespace {

// Holds the threads of an executor until it is opened.
class Gate {
 public:
  std::function<void()> Work() {
    return [this] {
      ++entered_;
      opened_.wait();
    };
  }
  void AwaitEntered(int count) const {
    while (entered_.load() < count) std::this_thread::yield();
  }
  void Open() { open_.set_value(); }

 private:
  std::atomic<int> entered_{0};
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

TEST(BlockingExecutor, RunsWorkOnAnotherThread) {
  BlockingExecutor executor(1, 4);
  std::promise<std::thread::id> ran;
  ASSERT_TRUE(executor.TryRun([&] { ran.set_value(std::this_thread::get_id()); }));
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(BlockingExecutor, RefusesWorkBeyondItsThreadsAndQueue) {
  Gate gate;
  BlockingExecutor executor(2, 1);
  ASSERT_TRUE(executor.TryRun(gate.Work()));
  ASSERT_TRUE(executor.TryRun(gate.Work()));
  gate.AwaitEntered(2);
  std::atomic<int> ran{0};
  EXPECT_TRUE(executor.TryRun([&] { ++ran; }));
  EXPECT_FALSE(executor.TryRun([&] { ran += 100; }));
  gate.Open();
  while (ran.load() == 0) std::this_thread::yield();
  EXPECT_EQ(ran.load(), 1);
}

TEST(BlockingExecutor, TakesAsMuchAsItHasFreeThreadsWithoutAQueue) {
  Gate gate;
  BlockingExecutor executor(2, 0);
  EXPECT_TRUE(executor.TryRun(gate.Work()));
  EXPECT_TRUE(executor.TryRun(gate.Work()));
  EXPECT_FALSE(executor.TryRun([] {}));
  gate.Open();
}

TEST(BlockingExecutor, RunsItsThreadsAtTheSameTime) {
  Gate gate;
  BlockingExecutor executor(3, 3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor.TryRun(gate.Work()));
  gate.AwaitEntered(3);
  gate.Open();
}

TEST(BlockingExecutor, DestructorRunsWhatWasAccepted) {
  std::atomic<int> ran{0};
  {
    BlockingExecutor executor(2, 1000);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(executor.TryRun([&] { ++ran; }));
  }
  EXPECT_EQ(ran.load(), 1000);
}

TEST(BlockingExecutor, RefusesWorkWhileStopping) {
  // Room without end: only stopping can make it refuse.
  auto executor = std::make_unique<BlockingExecutor>(1, std::numeric_limits<size_t>::max() / 2);
  BlockingExecutor* const raw = executor.get();
  std::atomic<bool> refused{false};
  ASSERT_TRUE(executor->TryRun([&] {
    while (raw->TryRun([] {})) std::this_thread::yield();
    refused = true;
  }));
  executor.reset();
  EXPECT_TRUE(refused.load());
}

}  // namespace
}  // namespace snowlease::service
