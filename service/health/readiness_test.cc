#include "service/health/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

#include "service/health/store_monitor.h"
#include "storage/errors.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_injecting_lease_store.h"

namespace snowlease::service {
namespace {

using std::chrono_literals::operator""s;
using storage::Millis;
using storage::SteadyTime;
using storage::StoreTime;
using ::testing::HasSubstr;

StoreObservation Up(Millis clock_ahead = Millis(0)) { return {absl::OkStatus(), clock_ahead, 1}; }
StoreObservation Down() { return {storage::StoreUnavailableError("disk gone"), Millis(0), 0}; }

class ReadinessTest : public ::testing::Test {
 protected:
  // One look a second; answers the lines logged.
  size_t Look(const StoreObservation& seen, int times = 1) {
    size_t lines = 0;
    for (int i = 0; i < times; ++i) {
      now_ += 1s;
      for (const ReadinessEvent& event : readiness_.Observe(seen, now_)) {
        last_event_ = event;
        ++lines;
      }
    }
    return lines;
  }

  Readiness readiness_{Readiness::Options{}};
  SteadyTime now_{};
  ReadinessEvent last_event_;
};

TEST_F(ReadinessTest, NotReadyBeforeTheStoreAnswered) {
  EXPECT_FALSE(readiness_.ready());
  EXPECT_EQ(Look(Up()), 0u);
  EXPECT_TRUE(readiness_.ready());
}

TEST_F(ReadinessTest, OneLostPingIsNoOutage) {
  Look(Up());
  EXPECT_EQ(Look(Down()), 0u);
  EXPECT_TRUE(readiness_.ready());
  EXPECT_EQ(Look(Up()), 0u);
}

// F40, F47
TEST_F(ReadinessTest, OutageOfFiveMinutesLogsOneLineAMinuteAndEndsByItself) {
  Look(Up());
  EXPECT_EQ(Look(Down(), 300), 5u);
  EXPECT_FALSE(readiness_.ready());
  EXPECT_THAT(last_event_.message, HasSubstr("has not answered for 4m"));
  EXPECT_THAT(readiness_.Report().ToJson(), HasSubstr("STORE_UNAVAILABLE: "));
  EXPECT_EQ(Look(Up()), 1u);
  EXPECT_THAT(last_event_.message, HasSubstr("answers again"));
  EXPECT_TRUE(readiness_.ready());
  EXPECT_EQ(Look(Up(), 600), 0u);
}

// M11
TEST_F(ReadinessTest, ClocksThatDifferPauseTakeoversButNotTheServer) {
  EXPECT_EQ(Look(Up(Millis(60'000))), 0u);
  EXPECT_EQ(Look(Up(Millis(-60'001)), 10), 1u);
  EXPECT_TRUE(readiness_.takeovers_paused());
  EXPECT_TRUE(readiness_.ready());
  EXPECT_THAT(readiness_.Report().ToJson(),
              HasSubstr("{\"component\":\"clock\",\"ok\":false,\"detail\":\"store clock and host "
                        "clock differ by -60001 ms"));
  EXPECT_EQ(Look(Up()), 1u);
  EXPECT_FALSE(readiness_.takeovers_paused());
}

TEST_F(ReadinessTest, DrainingIsForGood) {
  Look(Up());
  readiness_.SetDraining();
  Look(Up());
  EXPECT_FALSE(readiness_.ready());
  EXPECT_THAT(readiness_.Report().ToJson(), HasSubstr("\"draining\",\"ok\":false"));
}

// What the monitor saw, for another thread to wait for.
class Looks {
 public:
  void Add(const StoreObservation& seen) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(seen);
    added_.notify_all();
  }
  StoreObservation Await(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(added_.wait_for(lock, 10s, [&] { return seen_.size() >= count; }));
    return seen_.empty() ? StoreObservation{} : seen_.back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<StoreObservation> seen_;
};

TEST(StoreMonitorTest, FollowsTheStoreDownAndUpAndMeasuresItsClock) {
  snowlease::testing::FakeClock clock;
  auto memory = std::make_unique<storage::MemoryLeaseStore>(
      storage::StoreOptions{}, &clock, [&clock] { return StoreTime{clock.Now().ms + 250}; });
  ASSERT_TRUE(memory->Migrate(storage::MigrateMode::kAuto).ok());
  snowlease::testing::FaultInjectingLeaseStore store(std::move(memory));
  Readiness readiness{Readiness::Options{}};
  Looks looks;
  StoreMonitor::Listener listener;
  listener.seen = [&](const StoreObservation& seen) { looks.Add(seen); };
  const StoreMonitor monitor(&store, &clock, &readiness, {}, listener);
  EXPECT_TRUE(readiness.ready());
  EXPECT_EQ(looks.Await(1).clock_ahead, Millis(250));

  store.FailNext(snowlease::testing::StoreOperation::kPing, 2,
                 storage::StoreTimeoutError("no answer"));
  size_t count = 1;
  for (const bool ready : {true, false, true}) {
    ASSERT_TRUE(clock.AwaitWaiters(1));
    clock.Advance(Millis(1000));
    looks.Await(++count);
    EXPECT_EQ(readiness.ready(), ready);
  }
}

// F47: a store that hangs is a store that does not answer.
TEST(StoreMonitorTest, StoreThatHangsIsNotReadyAndReadyWhenItAnswersAgain) {
  using snowlease::testing::StoreOperation;
  snowlease::testing::FakeClock clock;
  auto memory = std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock);
  ASSERT_TRUE(memory->Migrate(storage::MigrateMode::kAuto).ok());
  snowlease::testing::FaultInjectingLeaseStore store(std::move(memory));
  Readiness readiness{Readiness::Options{}};
  const StoreMonitor monitor(&store, &clock, &readiness, {}, {});
  EXPECT_TRUE(readiness.ready());

  const auto advance_until = [&](bool ready) {
    for (int i = 0; i < 1000 && readiness.ready() != ready; ++i) {
      ASSERT_TRUE(clock.AwaitWaiters(1));
      clock.Advance(Millis(500));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_EQ(readiness.ready(), ready);
  };
  store.Block(StoreOperation::kPing);
  advance_until(false);
  EXPECT_THAT(readiness.Report().ToJson(), HasSubstr("STORE_TIMEOUT: "));
  EXPECT_THAT(readiness.Report().ToJson(), HasSubstr("it has not answered for "));
  store.Unblock(StoreOperation::kPing);
  advance_until(true);
}

// The namespaces are counted there: however long that takes, the monitor goes on.
TEST(StoreMonitorTest, WorkAfterAnAnswerDoesNotHoldUpTheLook) {
  snowlease::testing::FakeClock clock;
  storage::MemoryLeaseStore store(storage::StoreOptions{}, &clock);
  ASSERT_TRUE(store.Migrate(storage::MigrateMode::kAuto).ok());
  Readiness readiness{Readiness::Options{}};
  std::promise<void> go_on;
  StoreMonitor::Listener listener;
  listener.answered = [done = go_on.get_future().share()] { done.wait(); };
  const StoreMonitor monitor(&store, &clock, &readiness, {}, listener);
  EXPECT_TRUE(readiness.ready());
  go_on.set_value();
}

}  // namespace
}  // namespace snowlease::service
