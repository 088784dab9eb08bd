#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/config/config.h"
#include "storage/clock.h"

namespace snowlease::service {

// One thing that readiness looks at.
struct ReadinessReason {
  std::string component;  // "store", "schema", "clock", "draining"
  bool ok = true;
  std::string detail;
};

struct ReadinessReport {
  bool ready = false;
  // A store clock that differs pauses takeovers but not the service: ready, not ok.
  std::vector<ReadinessReason> reasons;

  std::string ToJson() const;
};

// A line to log about a change.
struct ReadinessEvent {
  LogLevel level = LogLevel::kInfo;
  std::string message;
  std::string detail;
};

// What one look at the store found.
struct StoreObservation {
  absl::Status status;             // of the ping
  storage::Millis clock_ahead{0};  // store clock less host clock, when OK
  int schema_version = 0;
};

// Decides from looks at the store whether the server is ready; no threads, no I/O.
// Thread-safe.
class Readiness {
 public:
  struct Options {
    storage::Millis max_clock_ahead{60'000};
    int failures_to_down = 2;  // a single lost ping is no outage
    storage::Millis reminder{60'000};
  };
  explicit Readiness(Options options) : options_(options) {}

  // Answers what to log: one line per change, and one per `reminder` while down.
  std::vector<ReadinessEvent> Observe(const StoreObservation& seen, storage::SteadyTime now);
  // For good: the server is going away.
  void SetDraining();

  ReadinessReport Report() const;
  bool ready() const;
  bool takeovers_paused() const;

 private:
  void ObserveOutage(const absl::Status& status, storage::SteadyTime now,
                     std::vector<ReadinessEvent>& events);
  void ObserveClock(storage::Millis ahead, std::vector<ReadinessEvent>& events);

  const Options options_;
  mutable std::mutex mutex_;
  bool observed_ = false;  // once OK
  bool store_up_ = false;
  int failures_ = 0;
  absl::Status last_error_;
  storage::SteadyTime down_since_;
  storage::SteadyTime last_line_;
  storage::Millis clock_ahead_{0};
  bool takeovers_paused_ = false;
  int schema_version_ = 0;
  bool draining_ = false;
};

}  // namespace snowlease::service
