#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "service/health/readiness.h"
#include "storage/lease_store.h"

namespace snowlease::service {

// Looks at the store every second and tells `readiness`. The store is asked on a thread
// of its own, so that one which hangs is seen as one that does not answer.
class StoreMonitor {
 public:
  struct Options {
    storage::Millis interval{1000};
    // A store that has not answered for so long counts as failed at every look.
    storage::Millis patience{5000};
  };
  // May be empty.
  struct Listener {
    // After each look, on the monitor's thread; must not ask the store.
    std::function<void(const StoreObservation&)> seen;
    std::function<void(const ReadinessEvent&)> log;
    // After each good answer, on the thread that asks the store; may ask it, too.
    std::function<void()> answered;
  };

  // All must outlive the monitor. The first look happens before the constructor
  // returns, within the patience.
  StoreMonitor(storage::LeaseStore* store, storage::Clock* clock, Readiness* readiness,
               Options options, Listener listener);
  // Waits for a question under way, for as long as the store hangs.
  ~StoreMonitor();

 private:
  void Look();
  void Run();
  // The answer, or a STORE_TIMEOUT when patience is over; none: stopping.
  std::optional<StoreObservation> Await();
  void RunAsker();
  StoreObservation Ask();

  storage::LeaseStore* const store_;
  storage::Clock* const clock_;
  Readiness* const readiness_;
  const Options options_;
  const Listener listener_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable wake_asker_;
  bool stopping_ = false;
  bool asking_ = false;
  std::optional<StoreObservation> answer_;
  std::optional<storage::SteadyTime> waiting_since_;
  std::thread asker_;
  std::thread thread_;
};

}  // namespace snowlease::service
