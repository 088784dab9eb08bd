#include "client/cli/bench/fleet.h"

#include <csignal>
#include <cstring>
#include <mutex>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/connection.h"

namespace snowlease::cli {
namespace {

using std::chrono::milliseconds;

constexpr int kMostAttempts = 20;
// While nothing at all has succeeded: there may be no server.
constexpr int kFirstAttempts = 4;
constexpr milliseconds kPoll{10};

std::atomic<bool> interrupted{false};

void HandleInterrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

bool Fleet::Interrupted() { return interrupted.load(std::memory_order_relaxed); }

Fleet::Fleet(Console& console, const GlobalOptions& global, const BenchOptions& options)
    : console_(console),
      options_(options),
      timeout_(global.timeout_ms),
      clock_(client::Clock::Real()),
      run_(absl::BytesToHexString(client::NewIncarnationId().substr(0, 4))),
      incarnation_prefix_(client::NewIncarnationId().substr(0, 8)) {}

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Connect(Console& console, const GlobalOptions& global,
                                                      const BenchOptions& options) {
  std::unique_ptr<Fleet> fleet(new Fleet(console, global, options));
  for (uint64_t i = 0; i < options.channels; ++i) {
    auto channel = client::NewChannel(global.server, ConnectionOptions(global));
    if (!channel.ok()) return channel.status();
    fleet->stubs_.push_back(v1::MachineIdService::NewStub(*std::move(channel)));
  }
  HandleInterrupts([](int) { interrupted = true; });
  return fleet;
}

std::vector<BenchLease> Fleet::NewLeases(size_t count) {
  std::vector<BenchLease> leases(count);
  for (BenchLease& lease : leases) lease.instance = absl::StrCat("bench-", run_, "-", counter_++);
  return leases;
}

void Fleet::FillClaim(const BenchLease& lease, v1::ClaimRequest& request) {
  std::string incarnation = incarnation_prefix_;
  const uint64_t number = counter_++;
  incarnation.append(reinterpret_cast<const char*>(&number), sizeof(number));
  request.set_namespace_(options_.name_space);
  request.set_instance_id(lease.instance);
  request.set_incarnation_id(incarnation);
  request.set_machine_bits(options_.bits);
  request.set_client_time_ms(clock_->Now().count());
  request.mutable_max_wait()->set_nanos(500'000'000);
}

void Fleet::FillRenew(const BenchLease& lease, v1::RenewRequest& request) const {
  request.set_namespace_(options_.name_space);
  request.set_instance_id(lease.instance);
  request.set_machine_id(lease.machine_id);
  request.set_token(lease.token);
  const int64_t now = clock_->Now().count();
  request.set_last_timestamp_ms(now);
  request.set_client_time_ms(now);
}

template <typename Request, typename Response>
absl::Status Fleet::ForEach(const std::string& what, std::vector<BenchLease*> work,
                            bool giving_back,
                            const typename ClosedLoop<Request, Response>::Start& start,
                            const std::function<void(const BenchLease&, Request&)>& fill,
                            const std::function<void(BenchLease&, const Response&)>& take) {
  const size_t total = work.size();
  // From here on the next one ends the program; not earlier, as some senders
  // (timeout, process groups) deliver one interrupt twice.
  if (giving_back && Interrupted()) HandleInterrupts(SIG_DFL);
  const client::RetryOptions backoff;
  std::mutex mutex;
  absl::Status fatal;  // guarded by mutex
  std::atomic<bool> stop{false};
  std::atomic<bool> reached{false};
  for (int attempt = 1; !work.empty() && !stop; ++attempt) {
    std::vector<BenchLease*> again;  // guarded by mutex
    std::atomic<size_t> cursor{0};
    const size_t slots = std::min<size_t>(options_.outstanding, work.size());
    std::vector<BenchLease*> current(slots);
    ClosedLoop<Request, Response> loop(
        stubs_, slots, timeout_, clock_, start,
        [&](size_t slot, Request& request) {
          const size_t index = stop ? work.size() : cursor++;
          if (index >= work.size()) return false;
          current[slot] = work[index];
          fill(*current[slot], request);
          return true;
        },
        [&](size_t slot, const absl::Status& status, const Response& response,
            std::chrono::nanoseconds) {
          const bool lost = client::ReasonOf(status) == client::Reason::kMachineIdLost;
          if (status.ok() || (giving_back && lost)) {
            reached = true;
            return take(*current[slot], response);
          }
          std::lock_guard lock(mutex);
          if (client::IsRetryable(status) && attempt < (reached ? kMostAttempts : kFirstAttempts)) {
            again.push_back(current[slot]);
          } else {
            fatal = status;
            stop = true;
          }
        });
    loop.Begin();
    while (loop.running()) {
      ShowProgress(absl::StrCat(
          what, " ", total - work.size() + std::min(cursor.load(), work.size()), "/", total));
      clock_->Wait(kPoll, {});
      if (!giving_back && Interrupted()) stop = true;
    }
    work = std::move(again);
    if (!work.empty() && !stop) clock_->Wait(client::BackoffAfter(backoff, attempt, 0.5), {});
  }
  EndProgress();
  if (fatal.ok() && !giving_back && Interrupted()) return absl::CancelledError("interrupted");
  return fatal;
}

absl::Status Fleet::Claim(std::vector<BenchLease>& leases) {
  std::vector<BenchLease*> work;
  for (BenchLease& lease : leases) {
    if (lease.token == 0) work.push_back(&lease);
  }
  return ForEach<v1::ClaimRequest, v1::ClaimResponse>(
      "claiming", std::move(work), /*giving_back=*/false,
      [](auto& stub, auto* context, const auto* request, auto* response, auto finish) {
        stub.async()->Claim(context, request, response, std::move(finish));
      },
      [this](const BenchLease& lease, v1::ClaimRequest& request) { FillClaim(lease, request); },
      [](BenchLease& lease, const v1::ClaimResponse& response) {
        lease.machine_id = response.lease().machine_id();
        lease.token = response.lease().token();
      });
}

absl::Status Fleet::Release(std::vector<BenchLease>& leases) {
  std::vector<BenchLease*> work;
  for (BenchLease& lease : leases) {
    if (lease.token != 0) work.push_back(&lease);
  }
  return ForEach<v1::ReleaseRequest, v1::ReleaseResponse>(
      "releasing", std::move(work), /*giving_back=*/true,
      [](auto& stub, auto* context, const auto* request, auto* response, auto finish) {
        stub.async()->Release(context, request, response, std::move(finish));
      },
      [this](const BenchLease& lease, v1::ReleaseRequest& request) {
        request.set_namespace_(options_.name_space);
        request.set_machine_id(lease.machine_id);
        request.set_instance_id(lease.instance);
        request.set_token(lease.token);
        request.set_last_timestamp_ms(0);
      },
      [](BenchLease& lease, const v1::ReleaseResponse&) { lease.token = 0; });
}

void Fleet::ShowProgress(const std::string& text) {
  if (!console_.err_is_terminal) return;
  std::string line = text;
  if (line.size() < progress_width_) line.append(progress_width_ - line.size(), ' ');
  progress_width_ = text.size();
  console_.err << "\r" << line << std::flush;
}

void Fleet::EndProgress() {
  if (progress_width_ == 0) return;
  console_.err << "\r" << std::string(progress_width_, ' ') << "\r" << std::flush;
  progress_width_ = 0;
}

}  // namespace snowlease::cli
