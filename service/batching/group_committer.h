#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/batching/commit_observer.h"
#include "service/batching/group_committer_core.h"
#include "storage/clock.h"
#include "storage/lease_store.h"

namespace snowlease::service {

struct PendingCall;

struct GroupCommitterOptions {
  size_t max_batch = 512;               // elements of a store call
  size_t max_queue = 8192;              // calls that wait for the store
  storage::Millis max_queue_age{1000};  // how long a call may wait before others are refused
  int workers = 0;                      // store threads; 0: one per connection of the store
};

// Sends concurrent calls of one kind to the store as one batch, on threads of its own.
// Answers are the store's; OVERLOADED (with the time to stay away) when too many calls wait,
// DRAINING after Drain, STORE_TIMEOUT when the deadline passed in the queue, INTERNAL when
// the store threw.
//
// Thread-safe; the calls do not block. `done` is called exactly once, without locks held,
// from a thread of this object or of Drain, or from the caller's for calls that are refused at
// once. It must not throw, block or call Drain. Store, clock and observer must outlive the object.
class GroupCommitter {
 public:
  using LeaseDone = std::function<void(absl::StatusOr<storage::Lease>)>;
  using StatusDone = std::function<void(absl::Status)>;
  using WatermarkDone = std::function<void(absl::StatusOr<storage::WatermarkReading>)>;

  GroupCommitter(storage::LeaseStore* store, storage::Clock* clock, GroupCommitterOptions options,
                 CommitObserver* observer /* may be null */);
  ~GroupCommitter();  // drains
  GroupCommitter(const GroupCommitter&) = delete;
  GroupCommitter& operator=(const GroupCommitter&) = delete;

  // Equal calls that wait at the same time share an element and its answer: renewals and
  // raises of one grant (the latest times count), claims of one incarnation (the first
  // counts), releases that say the same.
  void Claim(storage::ClaimSpec spec, storage::SteadyTime deadline, LeaseDone done);
  void Renew(storage::RenewSpec spec, storage::SteadyTime deadline, LeaseDone done);
  void Release(storage::ReleaseSpec spec, storage::SteadyTime deadline, StatusDone done);
  void RaiseWatermark(storage::RaiseSpec spec, storage::SteadyTime deadline, WatermarkDone done);

  // New calls get DRAINING; returns when all accepted ones are answered. Idempotent.
  void Drain();
  // Calls that wait for the store.
  size_t QueueDepth() const;

 private:
  struct Worker {
    std::condition_variable wake;
    std::optional<Batch> batch;
    std::vector<CallId> expired;
    std::thread thread;
  };

  void Submit(std::unique_ptr<PendingCall> call);
  void Refuse(std::unique_ptr<PendingCall> call, absl::Status status);
  void Expire(const std::vector<CallId>& calls);
  void RunWorker(int index);
  void Answered(size_t calls);  // with mutex_ held

  storage::LeaseStore* const store_;
  storage::Clock* const clock_;
  const GroupCommitterOptions options_;
  CommitObserver* const observer_;

  mutable std::mutex mutex_;
  std::condition_variable all_answered_;
  GroupCommitterCore core_;
  size_t unanswered_ = 0;  // accepted calls
  bool stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace snowlease::service
