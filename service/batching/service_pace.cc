#include "service/batching/service_pace.h"

#include <algorithm>
#include <cmath>

namespace snowlease::service {

using storage::Millis;

void ServicePace::BatchStarted(SteadyTime now, size_t calls) {
  under_way_ = true;
  started_ = now;
  calls_ = calls;
}

void ServicePace::BatchEnded(SteadyTime now, bool nothing_waits) {
  under_way_ = false;
  const auto took = std::max(now - started_, SteadyTime::duration(0));
  // Slowness is believed sooner than speed: a guess too low accepts calls in vain.
  usual_ = took > usual_ ? (usual_ + took + took) / 3 : (3 * usual_ + took) / 4;
  refused_ = nothing_waits ? 0 : refused_ - std::min(refused_, calls_);
}

SteadyTime::duration ServicePace::BatchDuration(SteadyTime now) const {
  return under_way_ ? std::max(usual_, now - started_) : usual_;
}

SteadyTime ServicePace::BeginAfter(SteadyTime now, size_t batches) const {
  const auto batch = BatchDuration(now);
  const SteadyTime free = under_way_ ? std::max(now, started_ + batch) : now;
  return free + static_cast<int64_t>(batches) * batch;
}

Millis ServicePace::Refuse(SteadyTime now, size_t waiting, size_t max_batch, uint64_t random) {
  const auto batches = static_cast<double>(waiting + refused_) / static_cast<double>(max_batch);
  const double milliseconds =
      std::chrono::duration<double, std::milli>(BatchDuration(now)).count() * (1 + batches);
  // Clamped before the jitter, or all callers beyond the bound would come back together.
  constexpr double kSpread = 0.25;
  const double middle =
      std::clamp(milliseconds, static_cast<double>(kMinPushback.count()) / (1 - kSpread),
                 static_cast<double>(kMaxPushback.count()) / (1 + kSpread));
  const double jitter = static_cast<double>(random >> 11) * 0x1.0p-53;  // [0, 1)
  refused_ = std::min<size_t>(refused_ + 1, size_t{1} << 20);
  const Millis pushback(std::llround(middle * (1 - kSpread + 2 * kSpread * jitter)));
  return std::clamp(pushback, kMinPushback, kMaxPushback);
}

}  // namespace snowlease::service
