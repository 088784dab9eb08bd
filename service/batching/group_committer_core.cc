#include "service/batching/group_committer_core.h"

#include <algorithm>

namespace snowlease::service {
namespace {

// Of the queue, what a lane with more than its share of it cannot have: others find room
// at any time, and renewals find it in a flood of claims.
constexpr size_t kReservedPart = 8;

CoreOptions Sane(CoreOptions options) {
  options.max_batch = std::max<size_t>(options.max_batch, 1);
  options.max_queue = std::max<size_t>(options.max_queue, 1);
  options.workers = std::max(options.workers, 1);
  return options;
}

}  // namespace

GroupCommitterCore::GroupCommitterCore(const CoreOptions& options)
    : options_(Sane(options)),
      random_state_(options.seed),
      waiting_(options_.workers, options.seed),
      workers_(options_.workers) {}

void GroupCommitterCore::Step(SteadyTime now, const Event& event, Actions* actions) {
  if (const auto* call = std::get_if<CallArrived>(&event)) {
    OnArrival(now, *call, actions);
  } else if (const auto* done = std::get_if<BatchDone>(&event)) {
    Worker& worker = workers_[done->worker];
    worker.busy = false;
    worker.pace.BatchEnded(now, waiting_.size(done->worker) == 0);
    DispatchNext(done->worker, now, actions);
  } else if (std::holds_alternative<DrainStarted>(event)) {
    draining_ = true;
  } else {
    waiting_.DropExpired(now, &actions->expired);
  }
}

void GroupCommitterCore::OnArrival(SteadyTime now, const CallArrived& call, Actions* actions) {
  if (draining_) {
    actions->rejection = Rejection{call.call, RejectReason::kDraining, storage::Millis(0)};
    return;
  }
  if (call.deadline <= now) {
    actions->expired.push_back(call.call);
    return;
  }
  const WaitingCalls::Place place = waiting_.Find(call.kind, call.key);
  Worker& worker = workers_[place.worker];
  if (const auto reason = WhyNot(now, call, place)) {
    const storage::Millis pushback =
        worker.pace.Refuse(now, waiting_.size(place.worker), options_.max_batch, NextRandom());
    actions->rejection = Rejection{call.call, *reason, pushback};
    return;
  }
  waiting_.Add(place, call, now);
  if (!worker.busy) DispatchNext(place.worker, now, actions);
}

std::optional<RejectReason> GroupCommitterCore::WhyNot(SteadyTime now, const CallArrived& call,
                                                       const WaitingCalls::Place& place) const {
  if (waiting_.size() >= options_.max_queue) return RejectReason::kQueueFull;
  // It joins a call that waits already, and costs the store nothing.
  if (place.same != nullptr) return std::nullopt;

  const WaitingCalls::LaneLoad load = waiting_.LoadOf(place, call.kind);
  const size_t reserved = options_.max_queue / kReservedPart;
  const size_t share = std::max<size_t>(1, reserved / std::max<size_t>(1, waiting_.lanes()));
  if (waiting_.size() + reserved >= options_.max_queue && reserved > 0 && load.calls >= share) {
    return RejectReason::kQueueFull;
  }
  // Of its own lane, and of the turns: not of a lane that only floods itself.
  if (load.waiting_since < now - options_.max_queue_age) return RejectReason::kQueueOld;

  // The age of the oldest tells of a flood late; what waits tells it now.
  const size_t batches_before = load.groups / options_.max_batch;
  if (batches_before == 0) return std::nullopt;
  const ServicePace& pace = workers_[place.worker].pace;
  if (pace.BeginAfter(now, batches_before) > now + options_.max_queue_age) {
    return RejectReason::kQueueOld;
  }
  if (pace.BeginAfter(now, batches_before + 1) > call.deadline) {
    return RejectReason::kDeadlineTooNear;
  }
  return std::nullopt;
}

void GroupCommitterCore::DispatchNext(int index, SteadyTime now, Actions* actions) {
  Worker& worker = workers_[index];
  // A kind of which everything had expired leaves no batch: look again.
  while (const auto kind = NextKind(index)) {
    Batch batch;
    batch.worker = index;
    batch.kind = *kind;
    waiting_.Take(index, *kind, options_.max_batch, now, &batch, &actions->expired);
    if (batch.calls.empty()) continue;
    worker.busy = true;
    worker.last = *kind;
    if (*kind != CallKind::kRenew) worker.last_other = *kind;
    worker.pace.BatchStarted(now, batch.calls.size());
    actions->batch = std::move(batch);
    return;
  }
}

// Renewals keep leases alive: they have every second turn to themselves.
std::optional<CallKind> GroupCommitterCore::NextKind(int index) const {
  const Worker& worker = workers_[index];
  const bool renewals = waiting_.HasReady(index, CallKind::kRenew);
  if (renewals && worker.last != CallKind::kRenew) return CallKind::kRenew;
  for (int step = 1; step <= kCallKinds; ++step) {
    const auto kind =
        static_cast<CallKind>((static_cast<int>(worker.last_other) + step) % kCallKinds);
    if (kind != CallKind::kRenew && waiting_.HasReady(index, kind)) return kind;
  }
  if (renewals) return CallKind::kRenew;
  return std::nullopt;
}

uint64_t GroupCommitterCore::NextRandom() {
  random_state_ += 0x9e3779b97f4a7c15ULL;
  uint64_t x = random_state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace snowlease::service
