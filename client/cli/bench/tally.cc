#include "client/cli/bench/tally.h"

#include <sys/resource.h>

#include "snowlease/errors.h"

namespace snowlease::cli {
namespace {

double ProcessorTimeUs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

void Tally::Begin() {
  begun_ = clock_->SteadyNow();
  cpu_begun_us_ = ProcessorTimeUs();
  measuring_ = true;
}

void Tally::End() {
  measuring_ = false;
  measured_ += clock_->SteadyNow() - begun_;
  cpu_us_ += ProcessorTimeUs() - cpu_begun_us_;
}

void Tally::Count(const absl::Status& status, std::chrono::nanoseconds latency) {
  if (!measuring_.load(std::memory_order_relaxed)) return;
  if (status.ok()) {
    succeeded_.fetch_add(1, std::memory_order_relaxed);
    latency_.Add(latency);
    return;
  }
  const std::string reason = client::ReasonName(client::ReasonOf(status));
  std::lock_guard lock(mutex_);
  ++errors_[reason.empty() ? absl::StatusCodeToString(status.code()) : reason];
  last_error_ = status;
}

std::map<std::string, uint64_t> Tally::errors() const {
  std::lock_guard lock(mutex_);
  return errors_;
}

absl::Status Tally::last_error() const {
  std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace snowlease::cli
