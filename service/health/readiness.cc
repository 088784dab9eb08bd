#include "service/health/readiness.h"

#include "service/log/log.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using storage::Millis;
using storage::SteadyTime;

Millis Since(SteadyTime then, SteadyTime now) {
  return std::chrono::duration_cast<Millis>(now - then);
}

std::string ErrorText(const absl::Status& status) {
  return storage::ReasonName(storage::ReasonOf(status)) + ": " + std::string(status.message());
}

}  // namespace

std::string ReadinessReport::ToJson() const {
  std::string json = ready ? "{\"ready\":true,\"reasons\":[" : "{\"ready\":false,\"reasons\":[";
  bool first = true;
  for (const ReadinessReason& reason : reasons) {
    json += std::string(first ? "" : ",") + "{\"component\":" + JsonQuoted(reason.component) +
            ",\"ok\":" + (reason.ok ? "true" : "false") +
            ",\"detail\":" + JsonQuoted(reason.detail) + "}";
    first = false;
  }
  return json + "]}";
}

std::vector<ReadinessEvent> Readiness::Observe(const StoreObservation& seen, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  std::vector<ReadinessEvent> events;
  if (!seen.status.ok()) {
    ObserveOutage(seen.status, now, events);
    return events;
  }
  failures_ = 0;
  schema_version_ = seen.schema_version;
  if (!store_up_ && observed_) {
    events.push_back({LogLevel::kInfo, "the store answers again",
                      "after " + FormatDuration(Since(down_since_, now))});
  }
  store_up_ = true;
  observed_ = true;
  ObserveClock(seen.clock_ahead, events);
  return events;
}

void Readiness::ObserveOutage(const absl::Status& status, SteadyTime now,
                              std::vector<ReadinessEvent>& events) {
  last_error_ = status;
  if (failures_ == 0) down_since_ = now;
  ++failures_;
  if (failures_ < options_.failures_to_down) return;
  const bool changed = store_up_ || failures_ == options_.failures_to_down;
  store_up_ = false;
  observed_ = true;
  if (changed) {
    events.push_back({LogLevel::kError, "the store does not answer", ErrorText(status)});
    last_line_ = now;
  } else if (now - last_line_ >= options_.reminder) {
    events.push_back({LogLevel::kError,
                      "the store has not answered for " + FormatDuration(Since(down_since_, now)),
                      ErrorText(status)});
    last_line_ = now;
  }
}

void Readiness::ObserveClock(Millis ahead, std::vector<ReadinessEvent>& events) {
  clock_ahead_ = ahead;
  const bool paused = ahead > options_.max_clock_ahead || -ahead > options_.max_clock_ahead;
  if (paused == takeovers_paused_) return;
  takeovers_paused_ = paused;
  const std::string detail =
      "store clock less host clock: " + std::to_string(ahead.count()) + " ms";
  if (paused) {
    events.push_back({LogLevel::kError,
                      "store clock and host clock differ: expired leases are not taken over; "
                      "put the clocks right",
                      detail});
  } else {
    events.push_back({LogLevel::kInfo, "store clock and host clock agree again", detail});
  }
}

void Readiness::SetDraining() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

ReadinessReport Readiness::Report() const {
  const std::lock_guard lock(mutex_);
  ReadinessReport report;
  report.ready = store_up_ && !draining_;
  report.reasons.push_back({"store", store_up_,
                            store_up_          ? "answers"
                            : last_error_.ok() ? "not asked yet"
                                               : ErrorText(last_error_)});
  report.reasons.push_back({"schema", schema_version_ > 0,
                            schema_version_ > 0 ? "version " + std::to_string(schema_version_)
                                                : "version not known yet"});
  report.reasons.push_back({"clock", !takeovers_paused_,
                            takeovers_paused_ ? "store clock and host clock differ by " +
                                                    std::to_string(clock_ahead_.count()) +
                                                    " ms: expired leases are not taken over"
                                              : "store clock and host clock agree"});
  report.reasons.push_back(
      {"draining", !draining_, draining_ ? "the server is shutting down" : "no"});
  return report;
}

bool Readiness::ready() const {
  const std::lock_guard lock(mutex_);
  return store_up_ && !draining_;
}

bool Readiness::takeovers_paused() const {
  const std::lock_guard lock(mutex_);
  return takeovers_paused_;
}

}  // namespace snowlease::service
