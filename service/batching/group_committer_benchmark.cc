#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <thread>

#include "service/batching/group_committer.h"
#include "service/batching/scripted_store.h"

// What GroupCommitter itself costs a call: processor time of this process for renewals
// with a store that answers at once, by calls outstanding.

namespace snowlease::service {
namespace {

constexpr int kCalls = 400'000;

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Answers nothing but empty leases, and remembers nothing.
class EmptyStore final : public testing::ScriptedStore {
 public:
  storage::BatchResult<storage::Lease> Renew(std::span<const storage::RenewSpec> specs,
                                             const storage::CallOptions&) override {
    ++batches;
    return storage::BatchResult<storage::Lease>(specs.size(), storage::Lease());
  }
  std::atomic<int> batches{0};
};

void Measure(int outstanding) {
  EmptyStore store;
  GroupCommitter committer(&store, storage::Clock::Real(), {}, nullptr);
  std::counting_semaphore<> free_slots(outstanding);
  const double before = ProcessorSeconds();
  for (int i = 0; i < kCalls; ++i) {
    free_slots.acquire();
    storage::RenewSpec spec;
    spec.grant = {"orders", static_cast<uint32_t>(i % 100'000), "orders-7c9f8d5b6-x2x4z", 1};
    committer.Renew(std::move(spec), storage::SteadyTime::max(),
                    [&](const absl::StatusOr<storage::Lease>&) { free_slots.release(); });
  }
  committer.Drain();
  const double microseconds = (ProcessorSeconds() - before) * 1e6 / kCalls;
  std::printf("%6d outstanding: %5.2f us of processor time a call, %6.1f calls a batch\n",
              outstanding, microseconds, static_cast<double>(kCalls) / store.batches.load());
}

}  // namespace
}  // namespace snowlease::service

int main() {
  for (const int outstanding : {1, 64, 512, 2048}) snowlease::service::Measure(outstanding);
  return 0;
}
