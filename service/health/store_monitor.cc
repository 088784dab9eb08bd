#include "service/health/store_monitor.h"

#include <utility>

#include "storage/errors.h"

namespace snowlease::service {

using storage::HostTime;
using storage::Millis;
using storage::SteadyTime;
using storage::StoreTime;

StoreMonitor::StoreMonitor(storage::LeaseStore* store, storage::Clock* clock, Readiness* readiness,
                           Options options, Listener listener)
    : store_(store),
      clock_(clock),
      readiness_(readiness),
      options_(options),
      listener_(std::move(listener)) {
  asker_ = std::thread([this] { RunAsker(); });
  Look();
  thread_ = std::thread([this] { Run(); });
}

StoreMonitor::~StoreMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  wake_asker_.notify_all();
  thread_.join();
  asker_.join();
}

StoreObservation StoreMonitor::Ask() {
  StoreObservation seen;
  const SteadyTime asked = clock_->SteadyNow();
  const absl::StatusOr<StoreTime> store_time = store_->Ping();
  const SteadyTime answered = clock_->SteadyNow();
  const HostTime host_time = clock_->Now();
  seen.status = store_time.status();
  if (store_time.ok()) {
    // The store read its clock somewhere between question and answer.
    const auto half = std::chrono::duration_cast<Millis>((answered - asked) / 2);
    seen.clock_ahead = Millis(store_time->ms - (host_time - half).ms);
    seen.schema_version = store_->SchemaVersion();
  }
  return seen;
}

void StoreMonitor::RunAsker() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_asker_.wait(lock, [this] { return asking_ || stopping_; });
    if (stopping_) return;
    lock.unlock();
    const StoreObservation seen = Ask();
    lock.lock();
    answer_ = seen;
    wake_.notify_all();
    lock.unlock();
    if (seen.status.ok() && listener_.answered) listener_.answered();
    lock.lock();
    asking_ = false;
    wake_.notify_all();
  }
}

std::optional<StoreObservation> StoreMonitor::Await() {
  std::unique_lock lock(mutex_);
  if (!waiting_since_) waiting_since_ = clock_->SteadyNow();
  const SteadyTime deadline = *waiting_since_ + options_.patience;
  while (!stopping_) {
    if (answer_) {
      waiting_since_.reset();
      return std::exchange(answer_, std::nullopt);
    }
    if (!asking_) {
      asking_ = true;
      wake_asker_.notify_one();
    }
    const SteadyTime now = clock_->SteadyNow();
    if (now >= deadline) {
      StoreObservation silence;
      silence.status = storage::StoreTimeoutError(
          "it has not answered for " +
          FormatDuration(std::chrono::duration_cast<Millis>(now - *waiting_since_)));
      return silence;
    }
    clock_->WaitUntil(wake_, lock, deadline);
  }
  return std::nullopt;
}

void StoreMonitor::Look() {
  const std::optional<StoreObservation> seen = Await();
  if (!seen) return;
  const std::vector<ReadinessEvent> events = readiness_->Observe(*seen, clock_->SteadyNow());
  if (listener_.log) {
    for (const ReadinessEvent& event : events) listener_.log(event);
  }
  if (listener_.seen) listener_.seen(*seen);
}

void StoreMonitor::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const SteadyTime next = clock_->SteadyNow() + options_.interval;
    while (!stopping_ && clock_->SteadyNow() < next) clock_->WaitUntil(wake_, lock, next);
    if (stopping_) return;
    lock.unlock();
    Look();
    lock.lock();
  }
}

}  // namespace snowlease::service
