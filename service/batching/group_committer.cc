#include "service/batching/group_committer.h"

#include <algorithm>
#include <random>
#include <utility>

#include "service/batching/pending_call.h"
#include "service/batching/store_batch.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

// How often a drain looks for calls whose deadline has passed while the store hangs.
constexpr storage::Millis kDrainTick{100};

GroupCommitterOptions WithWorkers(GroupCommitterOptions options, const storage::LeaseStore& store) {
  if (options.workers <= 0) options.workers = store.GetCapabilities().connections;
  options.workers = std::max(options.workers, 1);
  return options;
}

CoreOptions CoreOptionsOf(const GroupCommitterOptions& options) {
  return {.max_batch = options.max_batch,
          .max_queue = options.max_queue,
          .max_queue_age = options.max_queue_age,
          .workers = options.workers,
          .seed = std::random_device()()};
}

absl::Status StatusOf(const Rejection& rejection, const GroupCommitterOptions& options) {
  switch (rejection.reason) {
    case RejectReason::kQueueFull:
      return storage::OverloadedError("its queue of " + std::to_string(options.max_queue) +
                                          " calls has no room for more of this kind and namespace",
                                      rejection.pushback);
    case RejectReason::kQueueOld:
      return storage::OverloadedError("calls wait for the store for more than " +
                                          std::to_string(options.max_queue_age.count()) + " ms",
                                      rejection.pushback);
    case RejectReason::kDeadlineTooNear:
      return storage::OverloadedError(
          "the calls that wait already take longer than the deadline of this one allows",
          rejection.pushback);
    case RejectReason::kDraining:
      break;
  }
  return storage::DrainingError();
}

}  // namespace

GroupCommitter::GroupCommitter(storage::LeaseStore* store, storage::Clock* clock,
                               GroupCommitterOptions options, CommitObserver* observer)
    : store_(store),
      clock_(clock),
      options_(WithWorkers(options, *store)),
      observer_(observer),
      core_(CoreOptionsOf(options_)) {
  for (int i = 0; i < options_.workers; ++i) workers_.push_back(std::make_unique<Worker>());
  for (int i = 0; i < options_.workers; ++i) {
    workers_[i]->thread = std::thread([this, i] { RunWorker(i); });
  }
}

GroupCommitter::~GroupCommitter() {
  Drain();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& worker : workers_) worker->wake.notify_one();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

void GroupCommitter::Claim(storage::ClaimSpec spec, storage::SteadyTime deadline, LeaseDone done) {
  Submit(
      std::make_unique<PendingClaim>(CallKind::kClaim, deadline, std::move(spec), std::move(done)));
}

void GroupCommitter::Renew(storage::RenewSpec spec, storage::SteadyTime deadline, LeaseDone done) {
  Submit(
      std::make_unique<PendingRenew>(CallKind::kRenew, deadline, std::move(spec), std::move(done)));
}

void GroupCommitter::Release(storage::ReleaseSpec spec, storage::SteadyTime deadline,
                             StatusDone done) {
  Submit(std::make_unique<PendingRelease>(CallKind::kRelease, deadline, std::move(spec),
                                          std::move(done)));
}

void GroupCommitter::RaiseWatermark(storage::RaiseSpec spec, storage::SteadyTime deadline,
                                    WatermarkDone done) {
  Submit(
      std::make_unique<PendingRaise>(CallKind::kRaise, deadline, std::move(spec), std::move(done)));
}

void GroupCommitter::Submit(std::unique_ptr<PendingCall> call) {
  const SteadyTime now = clock_->SteadyNow();
  call->arrived = now;
  const CallArrived arrival{call->id(), call->kind, call->Key(), call->deadline};
  Actions actions;
  {
    const std::lock_guard lock(mutex_);
    core_.Step(now, arrival, &actions);
    const bool accepted = !actions.rejection && actions.expired.empty();
    if (accepted) {
      ++unanswered_;
      // From here on a worker may answer and free it at any moment.
      static_cast<void>(call.release());
    }
    if (actions.batch) {
      Worker& worker = *workers_[actions.batch->worker];
      worker.batch = std::move(actions.batch);
      // With the lock held: afterwards a drain may end and the worker be gone.
      worker.wake.notify_one();
    }
  }
  if (actions.rejection) {
    Refuse(std::move(call), StatusOf(*actions.rejection, options_));
  } else if (call != nullptr) {
    Refuse(std::move(call), storage::StoreTimeoutError("the deadline had passed on arrival"));
  }
}

void GroupCommitter::Refuse(std::unique_ptr<PendingCall> call, absl::Status status) {
  if (observer_ != nullptr) observer_->OnRejected(call->kind, status);
  call->Fail(std::move(status));
}

void GroupCommitter::Expire(const std::vector<CallId>& calls) {
  for (const CallId id : calls) {
    Refuse(std::unique_ptr<PendingCall>(PendingCall::Of(id)),
           storage::StoreTimeoutError("the deadline passed in the queue for the store"));
  }
}

void GroupCommitter::RunWorker(int index) {
  Worker& self = *workers_[index];
  std::unique_lock lock(mutex_);
  for (;;) {
    self.wake.wait(lock, [&] { return self.batch || stopping_; });
    if (!self.batch) return;
    while (self.batch || !self.expired.empty()) {
      const std::optional<Batch> batch = std::exchange(self.batch, std::nullopt);
      const std::vector<CallId> expired = std::exchange(self.expired, {});
      lock.unlock();
      size_t answered = expired.size();
      if (batch)
        answered += StoreBatch::Ask(*batch, store_, *clock_, observer_)->Deliver(observer_);
      Expire(expired);
      const SteadyTime now = clock_->SteadyNow();
      lock.lock();
      Answered(answered);
      if (!batch) continue;
      Actions actions;
      core_.Step(now, BatchDone{index}, &actions);
      self.batch = std::move(actions.batch);
      self.expired = std::move(actions.expired);
    }
  }
}

void GroupCommitter::Answered(size_t calls) {
  unanswered_ -= calls;
  if (calls > 0 && unanswered_ == 0) all_answered_.notify_all();
}

void GroupCommitter::Drain() {
  std::unique_lock lock(mutex_);
  Actions actions;
  core_.Step(clock_->SteadyNow(), DrainStarted{}, &actions);
  while (unanswered_ > 0) {
    const SteadyTime now = clock_->SteadyNow();
    Actions tick;
    core_.Step(now, Tick{}, &tick);
    if (!tick.expired.empty()) {
      lock.unlock();
      Expire(tick.expired);
      lock.lock();
      Answered(tick.expired.size());
      continue;
    }
    clock_->WaitUntil(all_answered_, lock, now + kDrainTick);
  }
}

size_t GroupCommitter::QueueDepth() const {
  const std::lock_guard lock(mutex_);
  return core_.waiting();
}

}  // namespace snowlease::service
