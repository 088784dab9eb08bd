#include "service/rpc/renew_pacing.h"

#include <algorithm>
#include <random>

namespace snowlease::service {

std::optional<std::chrono::nanoseconds> RenewAfter(const storage::LeaseRow& row, double load,
                                                   double jitter) {
  if (row.safe_guard == storage::Millis(0)) return std::nullopt;
  const std::chrono::nanoseconds safe_guard = row.safe_guard;
  const std::chrono::nanoseconds half_window = std::chrono::nanoseconds(row.window) / 2;
  const double share = 0.2 * (1 + std::clamp(load, 0.0, 1.0)) * (1 + 0.1 * jitter);
  const auto wanted = std::chrono::nanoseconds(
      static_cast<int64_t>(static_cast<double>(safe_guard.count()) * share));
  return std::min(wanted, half_window);
}

double RandomJitter() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(-1, 1)(engine);
}

}  // namespace snowlease::service
