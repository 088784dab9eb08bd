#include "client/cli/bench/loads.h"

#include "absl/strings/str_format.h"

namespace snowlease::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kPoll{10};

// Waits; false when the user interrupts.
bool Sit(Fleet& fleet, milliseconds duration, const std::string& what, const Tally& tally) {
  client::Clock* const clock = fleet.clock();
  const nanoseconds begun = clock->SteadyNow();
  for (;;) {
    const nanoseconds passed = clock->SteadyNow() - begun;
    if (Fleet::Interrupted()) return false;
    if (passed >= duration) return true;
    fleet.ShowProgress(absl::StrFormat(
        "%s %.1f s of %.1f s, %d answers", what, std::chrono::duration<double>(passed).count(),
        std::chrono::duration<double>(duration).count(), tally.succeeded()));
    clock->Wait(std::min<nanoseconds>(kPoll, duration - passed), {});
  }
}

// Warm-up, then the measured stretch.
void Measure(Fleet& fleet, Tally& tally) {
  if (Sit(fleet, milliseconds(fleet.options().warmup_ms), "warming up", tally)) {
    tally.Begin();
    Sit(fleet, milliseconds(fleet.options().duration_ms), "measuring", tally);
    tally.End();
  }
  fleet.EndProgress();
}

// Renewals that travel in one message; the next message leaves when all are answered.
class StreamLane {
 public:
  StreamLane(Fleet& fleet, client::KeepAliveStream& stream, const std::vector<BenchLease>& leases,
             std::atomic<size_t>& cursor, std::atomic<bool>& stop, std::atomic<size_t>& active,
             Tally& tally)
      : fleet_(fleet),
        stream_(stream),
        leases_(leases),
        cursor_(cursor),
        stop_(stop),
        active_(active),
        tally_(tally) {}

  void Go(size_t renewals) {
    std::vector<client::KeepAliveStream::Renewal> message(renewals);
    for (auto& renewal : message) {
      fleet_.FillRenew(leases_[cursor_++ % leases_.size()], renewal.request);
      renewal.done = [this](const absl::StatusOr<v1::Lease>& answer) { Answered(answer.status()); };
    }
    size_ = renewals;
    open_ = renewals;
    begun_ = fleet_.clock()->SteadyNow();
    stream_.Renew(std::move(message));
  }

 private:
  void Answered(const absl::Status& status) {
    tally_.Count(status, fleet_.clock()->SteadyNow() - begun_);
    if (open_.fetch_sub(1) != 1) return;
    if (stop_) {
      active_.fetch_sub(1, std::memory_order_release);
    } else {
      Go(size_);
    }
  }

  Fleet& fleet_;
  client::KeepAliveStream& stream_;
  const std::vector<BenchLease>& leases_;
  std::atomic<size_t>& cursor_;
  std::atomic<bool>& stop_;
  std::atomic<size_t>& active_;
  Tally& tally_;
  size_t size_ = 0;
  std::atomic<size_t> open_{0};
  nanoseconds begun_{0};
};

}  // namespace

void RenewLoad(Fleet& fleet, const std::vector<BenchLease>& leases, Tally& tally) {
  std::atomic<size_t> cursor{0};
  std::atomic<bool> stop{false};
  ClosedLoop<v1::RenewRequest, v1::RenewResponse> loop(
      fleet.stubs(), fleet.options().outstanding, fleet.timeout(), fleet.clock(),
      [](auto& stub, auto* context, const auto* request, auto* response, auto finish) {
        stub.async()->Renew(context, request, response, std::move(finish));
      },
      [&](size_t, v1::RenewRequest& request) {
        if (stop) return false;
        fleet.FillRenew(leases[cursor++ % leases.size()], request);
        return true;
      },
      [&](size_t, const absl::Status& status, const v1::RenewResponse&, nanoseconds latency) {
        tally.Count(status, latency);
      });
  loop.Begin();
  Measure(fleet, tally);
  stop = true;
  while (loop.running()) fleet.clock()->Wait(kPoll, {});
}

void KeepAliveLoad(Fleet& fleet, const std::vector<std::unique_ptr<client::Client>>& clients,
                   const std::vector<BenchLease>& leases, Tally& tally) {
  const BenchOptions& options = fleet.options();
  std::atomic<size_t> cursor{0};
  std::atomic<bool> stop{false};
  std::atomic<size_t> active{0};
  std::vector<std::unique_ptr<client::KeepAliveStream>> streams;
  for (const auto& client : clients) {
    streams.push_back(client->OpenKeepAlive(
        {.timeout = fleet.timeout(),
         .max_renewals_per_message = static_cast<int>(options.renewals_per_message)}));
  }
  std::vector<std::unique_ptr<StreamLane>> lanes;
  for (uint64_t left = options.outstanding; left > 0;) {
    const uint64_t renewals = std::min(left, options.renewals_per_message);
    lanes.push_back(std::make_unique<StreamLane>(fleet, *streams[lanes.size() % streams.size()],
                                                 leases, cursor, stop, active, tally));
    ++active;
    lanes.back()->Go(renewals);
    left -= renewals;
  }
  Measure(fleet, tally);
  stop = true;
  while (active.load(std::memory_order_acquire) > 0) fleet.clock()->Wait(kPoll, {});
  for (auto& stream : streams) stream->Close();
}

absl::Status ClaimLoad(Fleet& fleet, Tally& tally) {
  const BenchOptions& options = fleet.options();
  // Connects, and finds out whether it can.
  std::vector<BenchLease> first = fleet.NewLeases(std::min(options.outstanding, options.leases));
  absl::Status warm = fleet.Claim(first);
  const absl::Status released_first = fleet.Release(first);
  if (warm.ok()) warm = released_first;
  if (!warm.ok()) return warm;
  const auto wanted = std::chrono::duration<double>(milliseconds(options.duration_ms)).count();
  while (tally.seconds() < wanted && !Fleet::Interrupted()) {
    std::vector<BenchLease> leases = fleet.NewLeases(options.leases);
    const size_t slots = std::min<size_t>(options.outstanding, leases.size());
    std::vector<size_t> current(slots);
    std::atomic<size_t> cursor{0};
    std::atomic<bool> stop{false};
    ClosedLoop<v1::ClaimRequest, v1::ClaimResponse> loop(
        fleet.stubs(), slots, fleet.timeout(), fleet.clock(),
        [](auto& stub, auto* context, const auto* request, auto* response, auto finish) {
          stub.async()->Claim(context, request, response, std::move(finish));
        },
        [&](size_t slot, v1::ClaimRequest& request) {
          current[slot] = stop ? leases.size() : cursor++;
          if (current[slot] >= leases.size()) return false;
          fleet.FillClaim(leases[current[slot]], request);
          return true;
        },
        [&](size_t slot, const absl::Status& status, const v1::ClaimResponse& response,
            nanoseconds latency) {
          tally.Count(status, latency);
          if (!status.ok()) return;
          leases[current[slot]].machine_id = response.lease().machine_id();
          leases[current[slot]].token = response.lease().token();
        });
    const nanoseconds end =
        fleet.clock()->SteadyNow() + std::chrono::duration_cast<nanoseconds>(
                                         std::chrono::duration<double>(wanted - tally.seconds()));
    tally.Begin();
    loop.Begin();
    while (loop.running()) {
      fleet.ShowProgress(absl::StrFormat("claiming, %d answers", tally.succeeded()));
      fleet.clock()->Wait(milliseconds(1), {});
      stop = stop || Fleet::Interrupted() || fleet.clock()->SteadyNow() >= end;
    }
    tally.End();
    fleet.EndProgress();
    const absl::Status released = fleet.Release(leases);
    if (!released.ok()) return released;
  }
  return absl::OkStatus();
}

}  // namespace snowlease::cli
