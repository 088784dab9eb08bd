#include "service/batching/group_committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "service/batching/committer_test_support.h"
#include "service/batching/scripted_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/matchers.h"

namespace snowlease::service {
namespace {

using snowlease::testing::FakeClock;
using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using storage::Millis;
using storage::Reason;
using testing::ClaimOf;
using ::testing::ElementsAre;
using testing::LeaseAnswer;
using testing::ReleaseOf;
using testing::RenewOf;
using ::testing::SizeIs;
using testing::StatusAnswer;
using testing::WatermarkAnswer;

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

}  // namespace
}  // namespace snowlease::service
