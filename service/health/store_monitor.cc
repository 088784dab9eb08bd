#include "service/health/store_monitor.h"

#include <utility>

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
  Look();
  thread_ = std::thread([this] { Run(); });
}

StoreMonitor::~StoreMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StoreMonitor::Look() {
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
  const std::vector<ReadinessEvent> events = readiness_->Observe(seen, answered);
  if (listener_.log) {
    for (const ReadinessEvent& event : events) listener_.log(event);
  }
  if (listener_.seen) listener_.seen(seen);
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
