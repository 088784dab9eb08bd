#include "service/batching/group_committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "service/batching/scripted_store.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_injecting_lease_store.h"
#include "tests/testing/matchers.h"

namespace snowlease::service {
namespace {

using snowlease::testing::FakeClock;
using snowlease::testing::FaultInjectingLeaseStore;
using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using snowlease::testing::StoreOperation;
using storage::Millis;
using storage::Reason;
using ::testing::ElementsAre;
using ::testing::SizeIs;

storage::RenewSpec RenewOf(uint32_t machine_id, int64_t last = 0, int64_t client_time = 1000,
                           const std::string& name_space = "a") {
  storage::RenewSpec spec;
  spec.grant = {name_space, machine_id, "i", 1};
  spec.last_timestamp = {last};
  spec.client_time = {client_time};
  return spec;
}

storage::ReleaseSpec ReleaseOf(uint32_t machine_id) {
  storage::ReleaseSpec spec;
  spec.grant = {"a", machine_id, "i", 1};
  return spec;
}

storage::ClaimSpec ClaimOf(uint8_t incarnation, const std::string& instance) {
  storage::ClaimSpec spec;
  spec.name_space = "a";
  spec.instance_id = instance;
  spec.incarnation_id[0] = incarnation;
  return spec;
}

// One answer that a test can wait for, 10 s at most; a second one fails the test.
template <typename T>
class Answer {
 public:
  std::function<void(T)> Done() {
    return [this](T result) {
      EXPECT_EQ(count_.fetch_add(1), 0) << "answered twice";
      promise_.set_value(std::move(result));
    };
  }
  bool ready() const { return count_.load() > 0; }
  T Get() {
    auto future = promise_.get_future();
    if (future.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
      ADD_FAILURE() << "no answer";
      return T(absl::DeadlineExceededError("no answer"));
    }
    return future.get();
  }

 private:
  std::atomic<int> count_{0};
  std::promise<T> promise_;
};
using LeaseAnswer = Answer<absl::StatusOr<storage::Lease>>;
using StatusAnswer = Answer<absl::Status>;
using WatermarkAnswer = Answer<absl::StatusOr<storage::WatermarkReading>>;

class Recorder final : public CommitObserver {
 public:
  void OnClaim(const storage::ClaimSpec&, const absl::StatusOr<storage::Lease>&,
               std::chrono::nanoseconds total) override {
    const std::lock_guard lock(mutex_);
    ++claims;
    totals.push_back(total);
  }
  void OnRenew(const storage::RenewSpec& spec, const absl::StatusOr<storage::Lease>&,
               std::chrono::nanoseconds total) override {
    const std::lock_guard lock(mutex_);
    renewed.push_back(spec.grant.machine_id);
    totals.push_back(total);
  }
  void OnRelease(const storage::ReleaseSpec&, const absl::Status&,
                 std::chrono::nanoseconds) override {
    const std::lock_guard lock(mutex_);
    ++releases;
  }
  void OnBatch(CallKind, size_t size) override {
    const std::lock_guard lock(mutex_);
    batches.push_back(size);
  }
  void OnRejected(CallKind, const absl::Status& status) override {
    const std::lock_guard lock(mutex_);
    rejected.push_back(storage::ReasonOf(status));
  }

  std::mutex mutex_;
  int claims = 0;
  int releases = 0;
  std::vector<uint32_t> renewed;
  std::vector<size_t> batches;
  std::vector<Reason> rejected;
  std::vector<std::chrono::nanoseconds> totals;
};

class GroupCommitterTest : public ::testing::Test {
 protected:
  void Start(GroupCommitterOptions options = {}) {
    committer_ = std::make_unique<GroupCommitter>(&store_, &clock_, options, &recorder_);
  }
  // Leaves the worker hanging in the store with a renewal of machine id 0.
  void StartBusy(GroupCommitterOptions options = {}) {
    Start(options);
    store_.Close();
    committer_->Renew(RenewOf(0), kNever, busy_.Done());
    ASSERT_TRUE(store_.AwaitCalls(1));
  }

  static constexpr storage::SteadyTime kNever = storage::SteadyTime::max();

  FakeClock clock_;
  testing::ScriptedStore store_;
  Recorder recorder_;
  LeaseAnswer busy_;
  std::unique_ptr<GroupCommitter> committer_;
};

TEST_F(GroupCommitterTest, EveryKindIsAnsweredByTheStore) {
  Start();
  LeaseAnswer claim;
  LeaseAnswer renew;
  StatusAnswer release;
  WatermarkAnswer raise;
  committer_->Claim(ClaimOf(1, "i"), kNever, claim.Done());
  EXPECT_EQ(claim.Get()->row.instance_id, "i");
  committer_->Renew(RenewOf(7, 5, 2000), kNever, renew.Done());
  EXPECT_EQ(renew.Get()->row.window_end, storage::ClientTime{3000});
  committer_->RaiseWatermark({{"a", 7, "i", 1}, {77}}, kNever, raise.Done());
  EXPECT_EQ(raise.Get()->watermark, storage::ClientTime{77});
  committer_->Release(ReleaseOf(7), kNever, release.Done());
  EXPECT_THAT(release.Get(), IsOk());
  committer_->Drain();
  EXPECT_EQ(recorder_.claims, 1);
  EXPECT_EQ(recorder_.releases, 1);
  EXPECT_THAT(recorder_.renewed, ElementsAre(7));
  EXPECT_THAT(recorder_.batches, ElementsAre(1, 1, 1, 1));
}

TEST_F(GroupCommitterTest, CallsThatWaitGoAsOneBatchAndEachGetsItsOwnAnswer) {
  StartBusy();
  std::vector<LeaseAnswer> answers(100);
  for (uint32_t i = 0; i < 100; ++i) {
    committer_->Renew(RenewOf(1 + i), kNever, answers[i].Done());
  }
  EXPECT_EQ(committer_->QueueDepth(), 100u);
  store_.Open();
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(answers[i].Get()->row.machine_id, 1 + i);
  EXPECT_THAT(busy_.Get(), IsOk());
  EXPECT_THAT(store_.renewals(), ElementsAre(SizeIs(1), SizeIs(100)));
  EXPECT_EQ(committer_->QueueDepth(), 0u);
}

// M12: every answered window end is one that is stored.
TEST_F(GroupCommitterTest, MergedRenewalsAllAnswerTheWindowEndThatWasStored) {
  StartBusy();
  LeaseAnswer first;
  LeaseAnswer second;
  LeaseAnswer third;
  committer_->Renew(RenewOf(5, 30, 9000), kNever, first.Done());
  committer_->Renew(RenewOf(5, 70, 8000), kNever, second.Done());
  committer_->Renew(RenewOf(5, 50, 7000), kNever, third.Done());
  store_.Open();
  const storage::ClientTime stored{10'000};
  EXPECT_EQ(first.Get()->row.window_end, stored);
  EXPECT_EQ(second.Get()->row.window_end, stored);
  const auto last = third.Get();
  EXPECT_EQ(last->row.window_end, stored);
  EXPECT_EQ(last->row.watermark, storage::ClientTime{70});
  EXPECT_EQ(store_.StoredWindowEnd(5), stored);
  ASSERT_THAT(store_.renewals(), ElementsAre(SizeIs(1), SizeIs(1)));
  EXPECT_THAT(recorder_.renewed, ElementsAre(0, 5, 5, 5));
}

TEST_F(GroupCommitterTest, MergedRaisesTakeTheHighest) {
  StartBusy();
  WatermarkAnswer low;
  WatermarkAnswer high;
  committer_->RaiseWatermark({{"a", 5, "i", 1}, {90}}, kNever, high.Done());
  committer_->RaiseWatermark({{"a", 5, "i", 1}, {40}}, kNever, low.Done());
  store_.Open();
  EXPECT_EQ(low.Get()->watermark, storage::ClientTime{90});
  EXPECT_EQ(high.Get()->watermark, storage::ClientTime{90});
  EXPECT_THAT(store_.raises(), ElementsAre(SizeIs(1)));
}

TEST_F(GroupCommitterTest, RepeatedClaimKeepsTheFirstRequestAndItsTimeInTheQueue) {
  StartBusy();
  LeaseAnswer first;
  LeaseAnswer repeat;
  storage::ClaimSpec spec = ClaimOf(1, "i");
  spec.client_time = {500};
  spec.waited = Millis(3);
  committer_->Claim(spec, kNever, first.Done());
  clock_.Advance(Millis(250));
  spec.client_time = {750};
  committer_->Claim(spec, kNever, repeat.Done());
  clock_.Advance(Millis(100));
  store_.Open();
  EXPECT_THAT(first.Get(), IsOk());
  EXPECT_THAT(repeat.Get(), IsOk());
  ASSERT_THAT(store_.claims(), ElementsAre(SizeIs(1)));
  EXPECT_EQ(store_.claims()[0][0].client_time, storage::ClientTime{500});
  EXPECT_EQ(store_.claims()[0][0].waited, Millis(353));
}

// The client's clock and the time in the queue must be of the same request.
TEST_F(GroupCommitterTest, ClaimWhoseFirstRequestExpiredCountsFromTheOneThatIsLeft) {
  StartBusy();
  LeaseAnswer first;
  LeaseAnswer repeat;
  storage::ClaimSpec spec = ClaimOf(1, "i");
  spec.client_time = {500};
  committer_->Claim(spec, clock_.SteadyNow() + Millis(200), first.Done());
  clock_.Advance(Millis(150));
  spec.client_time = {650};
  committer_->Claim(spec, clock_.SteadyNow() + Millis(500), repeat.Done());
  clock_.Advance(Millis(100));
  store_.Open();
  EXPECT_THAT(first.Get(), HasReason(Reason::kStoreTimeout));
  EXPECT_THAT(repeat.Get(), IsOk());
  EXPECT_EQ(store_.claims()[0][0].client_time, storage::ClientTime{650});
  EXPECT_EQ(store_.claims()[0][0].waited, Millis(100));
}

TEST_F(GroupCommitterTest, StoreIsToldTheLatestDeadlineOfTheBatch) {
  StartBusy();
  const storage::SteadyTime now = clock_.SteadyNow();
  LeaseAnswer one;
  LeaseAnswer two;
  committer_->Renew(RenewOf(1), now + Millis(900), one.Done());
  committer_->Renew(RenewOf(2), now + Millis(400), two.Done());
  store_.Open();
  EXPECT_THAT(one.Get(), IsOk());
  EXPECT_THAT(two.Get(), IsOk());
  EXPECT_THAT(store_.deadlines(), ElementsAre(kNever, now + Millis(900)));
}

TEST_F(GroupCommitterTest, CallWhoseDeadlinePassedInTheQueueNeverReachesTheStore) {
  StartBusy();
  LeaseAnswer late;
  committer_->Renew(RenewOf(1), clock_.SteadyNow() + Millis(100), late.Done());
  clock_.Advance(Millis(101));
  store_.Open();
  EXPECT_THAT(late.Get(), HasReason(Reason::kStoreTimeout));
  committer_->Drain();
  EXPECT_EQ(store_.calls(), 1);
  EXPECT_THAT(recorder_.rejected, ElementsAre(Reason::kStoreTimeout));
}

TEST_F(GroupCommitterTest, CallWhoseDeadlinePassedOnArrivalIsAnsweredAtOnce) {
  Start();
  LeaseAnswer late;
  committer_->Renew(RenewOf(1), clock_.SteadyNow(), late.Done());
  EXPECT_TRUE(late.ready());
  EXPECT_THAT(late.Get(), HasReason(Reason::kStoreTimeout));
  EXPECT_EQ(store_.calls(), 0);
}

TEST_F(GroupCommitterTest, FullQueueRefusesAtOnceWithPushback) {
  StartBusy({.max_queue = 2});
  std::vector<LeaseAnswer> answers(3);
  for (uint32_t i = 0; i < 3; ++i) committer_->Renew(RenewOf(1 + i), kNever, answers[i].Done());
  EXPECT_TRUE(answers[2].ready());
  const auto refused = answers[2].Get();
  EXPECT_THAT(refused, HasReason(Reason::kOverloaded));
  EXPECT_GE(storage::RetryAfterOf(refused.status()), Millis(20));
  EXPECT_THAT(recorder_.rejected, ElementsAre(Reason::kOverloaded));
  store_.Open();
  EXPECT_THAT(answers[0].Get(), IsOk());
  EXPECT_THAT(answers[1].Get(), IsOk());
}

TEST_F(GroupCommitterTest, OldQueueRefusesAtOnceWithPushback) {
  StartBusy({.max_queue_age = Millis(1000)});
  LeaseAnswer old;
  LeaseAnswer refused;
  committer_->Renew(RenewOf(1), kNever, old.Done());
  clock_.Advance(Millis(1001));
  committer_->Renew(RenewOf(2), kNever, refused.Done());
  EXPECT_TRUE(refused.ready());
  EXPECT_THAT(refused.Get(), HasReason(Reason::kOverloaded));
  store_.Open();
  EXPECT_THAT(old.Get(), IsOk());
}

// ---- faults of the store ----

TEST_F(GroupCommitterTest, ExceptionOfTheStoreFailsItsBatchOnly) {
  StartBusy();
  LeaseAnswer one;
  LeaseAnswer two;
  committer_->Renew(RenewOf(1), kNever, one.Done());
  committer_->Renew(RenewOf(2), kNever, two.Done());
  store_.SetBeforeAnswer([&] {
    if (store_.calls() == 2) throw std::runtime_error("disk on fire");
  });
  store_.Open();
  EXPECT_THAT(busy_.Get(), IsOk());
  const auto failed = one.Get();
  EXPECT_THAT(failed, HasReason(Reason::kInternal));
  EXPECT_THAT(std::string(failed.status().message()), ::testing::HasSubstr("disk on fire"));
  EXPECT_THAT(two.Get(), HasReason(Reason::kInternal));
  LeaseAnswer after;
  committer_->Renew(RenewOf(3), kNever, after.Done());
  EXPECT_THAT(after.Get(), IsOk());
}

TEST_F(GroupCommitterTest, ThrownThingsThatAreNoExceptionsFailTheBatchToo) {
  store_.SetBeforeAnswer([] { throw 42; });
  Start();
  StatusAnswer release;
  committer_->Release(ReleaseOf(1), kNever, release.Done());
  EXPECT_THAT(release.Get(), HasReason(Reason::kInternal));
}

TEST_F(GroupCommitterTest, TooFewAnswersOfTheStoreAreAnErrorOfAll) {
  store_.AnswerTooFew();
  Start();
  LeaseAnswer renew;
  committer_->Renew(RenewOf(1), kNever, renew.Done());
  EXPECT_THAT(renew.Get(), HasReason(Reason::kInternal));
}

TEST_F(GroupCommitterTest, CallMadeFromAnAnswerIsServed) {
  Start();
  LeaseAnswer second;
  committer_->Renew(RenewOf(1), kNever, [&](absl::StatusOr<storage::Lease>) {
    committer_->Renew(RenewOf(2), kNever, second.Done());
  });
  EXPECT_THAT(second.Get(), IsOk());
}

// ---- drain ----

TEST_F(GroupCommitterTest, DrainAnswersWhatWasAcceptedAndRefusesTheRest) {
  StartBusy();
  LeaseAnswer waiting;
  committer_->Renew(RenewOf(1), kNever, waiting.Done());
  std::future<void> drain = std::async(std::launch::async, [&] { committer_->Drain(); });
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  LeaseAnswer refused;
  committer_->Renew(RenewOf(2), kNever, refused.Done());
  EXPECT_THAT(refused.Get(), HasReason(Reason::kDraining));
  EXPECT_FALSE(waiting.ready());
  store_.Open();
  drain.get();
  EXPECT_TRUE(waiting.ready());
  EXPECT_THAT(waiting.Get(), IsOk());
  committer_->Drain();
  EXPECT_THAT(recorder_.rejected, ElementsAre(Reason::kDraining));
}

TEST_F(GroupCommitterTest, DrainTellsCallsWhoseDeadlinePassesWhileTheStoreHangs) {
  StartBusy();
  LeaseAnswer waiting;
  committer_->Renew(RenewOf(1), clock_.SteadyNow() + Millis(50), waiting.Done());
  std::future<void> drain = std::async(std::launch::async, [&] { committer_->Drain(); });
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(Millis(200));
  EXPECT_THAT(waiting.Get(), HasReason(Reason::kStoreTimeout));
  store_.Open();
  drain.get();
  EXPECT_EQ(store_.calls(), 1);
}

TEST_F(GroupCommitterTest, DestructorAnswersWhatWasAccepted) {
  Start();
  std::atomic<int> answered{0};
  for (uint32_t i = 0; i < 500; ++i) {
    committer_->Renew(RenewOf(i), kNever, [&](absl::StatusOr<storage::Lease>) { ++answered; });
  }
  committer_.reset();
  EXPECT_EQ(answered.load(), 500);
}

// ---- slow callers ----

TEST_F(GroupCommitterTest, StoreIsAskedAgainWhileTheCallbacksOfABigBatchRun) {
  StartBusy();
  std::promise<void> asked_again;
  std::shared_future<void> released = asked_again.get_future().share();
  std::atomic<int> answered{0};
  for (uint32_t i = 1; i <= 100; ++i) {
    committer_->Renew(RenewOf(i), kNever, [&](const absl::StatusOr<storage::Lease>&) {
      if (answered.fetch_add(1) == 0) released.wait();
    });
  }
  store_.Open();
  EXPECT_THAT(busy_.Get(), IsOk());
  ASSERT_TRUE(store_.AwaitCalls(2));
  LeaseAnswer other;
  committer_->Renew(RenewOf(500), kNever, other.Done());
  EXPECT_THAT(other.Get(), IsOk());
  EXPECT_LE(answered.load(), 1);
  asked_again.set_value();
  committer_->Drain();
  EXPECT_EQ(answered.load(), 100);
}

// ---- many threads ----

TEST_F(GroupCommitterTest, EveryCallOfManyThreadsIsAnsweredOnceWithItsOwnAnswer) {
  store_.SetConnections(3);
  committer_ = std::make_unique<GroupCommitter>(&store_, storage::Clock::Real(),
                                                GroupCommitterOptions{.max_batch = 16}, &recorder_);
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
          committer_->Release(ReleaseOf(id), kNever, [&, id](absl::Status) { ++answers[id]; });
        } else {
          committer_->Renew(RenewOf(id), kNever, lease_done);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  committer_->Drain();
  for (const auto& count : answers) EXPECT_EQ(count.load(), 1);
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(GroupCommitterTest, CallsDuringADrainAreServedOrRefusedButAlwaysAnswered) {
  committer_ = std::make_unique<GroupCommitter>(&store_, storage::Clock::Real(),
                                                GroupCommitterOptions{}, &recorder_);
  std::atomic<int> served{0};
  std::atomic<int> refused{0};
  std::atomic<bool> stop{false};
  std::vector<int> sent(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < sent.size(); ++t) {
    threads.emplace_back([&, t] {
      while (!stop.load()) {
        ++sent[t];
        committer_->Renew(RenewOf(static_cast<uint32_t>(sent[t])), kNever,
                          [&](const absl::StatusOr<storage::Lease>& lease) {
                            ++(lease.ok() ? served : refused);
                          });
      }
    });
  }
  while (served.load() < 100) std::this_thread::yield();
  committer_->Drain();
  const int served_by_drain = served.load();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.load(), served_by_drain);
  EXPECT_EQ(served.load() + refused.load(), sent[0] + sent[1] + sent[2]);
}

// ---- with the real rules ----

storage::ClaimSpec RealClaim(const FakeClock& clock) {
  storage::ClaimSpec spec = ClaimOf(1, "i");
  spec.client_time = {clock.Now().ms};
  return spec;
}

class GroupCommitterOnRulesTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  FaultInjectingLeaseStore store_{
      std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock_)};
  GroupCommitter committer_{&store_, &clock_, {}, nullptr};

  static constexpr storage::SteadyTime kNever = storage::SteadyTime::max();
};

TEST_F(GroupCommitterOnRulesTest, ClaimRepeatedInTheQueueIsOneGrant) {
  store_.Block(StoreOperation::kClaim);
  LeaseAnswer first;
  std::vector<LeaseAnswer> repeats(3);
  committer_.Claim(RealClaim(clock_), kNever, first.Done());
  ASSERT_TRUE(store_.AwaitBlocked(StoreOperation::kClaim, 1));
  for (LeaseAnswer& repeat : repeats) committer_.Claim(RealClaim(clock_), kNever, repeat.Done());
  store_.Unblock(StoreOperation::kClaim);
  const auto lease = first.Get();
  ASSERT_THAT(lease, IsOk());
  for (LeaseAnswer& repeat : repeats) {
    const auto again = repeat.Get();
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->row.machine_id, lease->row.machine_id);
    EXPECT_EQ(again->row.token, lease->row.token);
  }
  EXPECT_EQ(store_.Elements(StoreOperation::kClaim), 2u);
}

// Like M13: a repeat after a lost answer changes nothing more.
TEST_F(GroupCommitterOnRulesTest, RenewAndReleaseRepeatedAfterLostAnswersSucceed) {
  LeaseAnswer claim;
  committer_.Claim(RealClaim(clock_), kNever, claim.Done());
  const auto lease = claim.Get();
  ASSERT_THAT(lease, IsOk());
  storage::RenewSpec renew;
  renew.grant = {"a", lease->row.machine_id, "i", lease->row.token};
  renew.client_time = {clock_.Now().ms};
  store_.LoseAnswerOfNext(StoreOperation::kRenew, 1);
  LeaseAnswer lost;
  committer_.Renew(renew, kNever, lost.Done());
  EXPECT_THAT(lost.Get(), HasReason(Reason::kStoreUnavailable));
  LeaseAnswer repeated;
  committer_.Renew(renew, kNever, repeated.Done());
  EXPECT_THAT(repeated.Get(), IsOk());

  storage::ReleaseSpec release;
  release.grant = renew.grant;
  release.last_timestamp = storage::ClientTime{0};
  store_.LoseAnswerOfNext(StoreOperation::kRelease, 1);
  StatusAnswer lost_release;
  committer_.Release(release, kNever, lost_release.Done());
  EXPECT_THAT(lost_release.Get(), HasReason(Reason::kStoreUnavailable));
  StatusAnswer repeated_release;
  committer_.Release(release, kNever, repeated_release.Done());
  EXPECT_THAT(repeated_release.Get(), IsOk());
}

TEST_F(GroupCommitterOnRulesTest, RenewThatWaitsBehindAReleaseDoesNotReviveTheLease) {
  LeaseAnswer claim;
  committer_.Claim(RealClaim(clock_), kNever, claim.Done());
  const auto lease = claim.Get();
  ASSERT_THAT(lease, IsOk());
  storage::RenewSpec renew;
  renew.grant = {"a", lease->row.machine_id, "i", lease->row.token};
  renew.client_time = {clock_.Now().ms};
  storage::ReleaseSpec release;
  release.grant = renew.grant;
  store_.Block(StoreOperation::kRenew);
  LeaseAnswer before;
  LeaseAnswer earlier;
  LeaseAnswer later;
  StatusAnswer released;
  committer_.Renew(renew, kNever, before.Done());
  ASSERT_TRUE(store_.AwaitBlocked(StoreOperation::kRenew, 1));
  committer_.Renew(renew, kNever, earlier.Done());
  committer_.Release(release, kNever, released.Done());
  committer_.Renew(renew, kNever, later.Done());
  store_.Unblock(StoreOperation::kRenew);
  EXPECT_THAT(before.Get(), IsOk());
  EXPECT_THAT(earlier.Get(), IsOk());
  EXPECT_THAT(released.Get(), IsOk());
  EXPECT_THAT(later.Get(), HasReason(Reason::kMachineIdLost));
}

}  // namespace
}  // namespace snowlease::service
