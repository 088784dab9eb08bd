#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "service/health/readiness.h"
#include "storage/lease_store.h"

namespace snowlease::service {

// Looks at the store every second on a thread of its own and tells `readiness`. A
// slow store delays only this thread.
class StoreMonitor {
 public:
  struct Options {
    storage::Millis interval{1000};
  };
  // Both are called on the monitor's thread, after each look; may be empty.
  struct Listener {
    std::function<void(const StoreObservation&)> seen;
    std::function<void(const ReadinessEvent&)> log;
  };

  // All must outlive the monitor. The first look happens before the constructor
  // returns.
  StoreMonitor(storage::LeaseStore* store, storage::Clock* clock, Readiness* readiness,
               Options options, Listener listener);
  // Waits for a look under way.
  ~StoreMonitor();

 private:
  void Look();
  void Run();

  storage::LeaseStore* const store_;
  storage::Clock* const clock_;
  Readiness* const readiness_;
  const Options options_;
  const Listener listener_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace snowlease::service
