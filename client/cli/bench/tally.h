#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "client/cli/bench/histogram.h"
#include "snowlease/clock.h"

namespace snowlease::cli {

// Counts the calls that end while it measures; stretches add up. Begin and End from
// one thread, Count from any.
class Tally {
 public:
  explicit Tally(client::Clock* clock) : clock_(clock) {}

  void Begin();
  void End();
  void Count(const absl::Status& status, std::chrono::nanoseconds latency);

  const Histogram& latency() const { return latency_; }
  uint64_t succeeded() const { return succeeded_.load(std::memory_order_relaxed); }
  // By reason, or by code where there is none.
  std::map<std::string, uint64_t> errors() const;
  // The last one; OK when there was none.
  absl::Status last_error() const;
  double seconds() const { return std::chrono::duration<double>(measured_).count(); }
  // Processor time of this process while it measured.
  double cpu_us() const { return cpu_us_; }

 private:
  client::Clock* const clock_;
  std::atomic<bool> measuring_{false};
  std::atomic<uint64_t> succeeded_{0};
  Histogram latency_;
  std::chrono::nanoseconds begun_{0};
  std::chrono::nanoseconds measured_{0};
  double cpu_begun_us_ = 0;
  double cpu_us_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> errors_;  // guarded by mutex_
  absl::Status last_error_;                 // guarded by mutex_
};

}  // namespace snowlease::cli
