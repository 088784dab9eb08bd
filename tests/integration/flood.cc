#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/integration/test_client.h"

namespace snowlease::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kChannels = 4;
constexpr int kMostOutstanding = 20'000;
constexpr std::chrono::seconds kDeadline{5};
constexpr std::chrono::milliseconds kTick{1};

std::string Percentile(std::vector<double>& sorted, double part) {
  if (sorted.empty()) return "0";
  return std::to_string(sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))]);
}

class Flooder {
 public:
  Flooder(const std::string& server, std::string name_space, const FloodPlan& plan)
      : name_space_(std::move(name_space)), plan_(plan) {
    for (int i = 0; i < kChannels; ++i) {
      channels_.push_back(OwnChannel(server));
      channels_.back()->WaitForConnected(SteadyDeadline());
      stubs_.push_back(v1::MachineIdService::NewStub(channels_.back()));
    }
  }

  void Run() {
    start_ = SteadyClock::now();
    const auto end = start_ + std::chrono::duration_cast<SteadyClock::duration>(
                                  std::chrono::duration<double>(plan_.seconds));
    if (plan_.rate == 0) {
      for (int i = 0; i < plan_.outstanding; ++i) Send();
      std::this_thread::sleep_until(end);
    } else {
      SendAtRate(end);
    }
    ended_ = true;
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return outstanding_ == 0; });
  }

  void ReportResults() {
    std::sort(ok_ms_.begin(), ok_ms_.end());
    std::sort(rejected_ms_.begin(), rejected_ms_.end());
    std::string others;
    for (const auto& [reason, count] : others_) {
      others += (others.empty() ? "" : ", ") + reason + " x " + std::to_string(count);
    }
    Report({{"ok", std::to_string(ok_ms_.size())},
            {"in_time", std::to_string(in_time_)},
            {"rejected", std::to_string(rejected_ms_.size())},
            {"pushed_back", std::to_string(pushed_back_)},
            {"unsent", std::to_string(unsent_)},
            {"others", others},
            {"ok_p50_ms", Percentile(ok_ms_, 0.5)},
            {"ok_p99_ms", Percentile(ok_ms_, 0.99)},
            {"rejected_p50_ms", Percentile(rejected_ms_, 0.5)},
            {"rejected_p99_ms", Percentile(rejected_ms_, 0.99)}});
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::ClaimRequest request;
    v1::ClaimResponse response;
    SteadyClock::time_point sent;
  };

  static std::chrono::system_clock::time_point SteadyDeadline() {
    return std::chrono::system_clock::now() + kDeadline;
  }

  void SendAtRate(SteadyClock::time_point end) {
    int64_t sent = 0;
    for (auto now = start_; now < end; now = SteadyClock::now()) {
      const double elapsed = std::chrono::duration<double>(now - start_).count();
      for (const auto due = static_cast<int64_t>(elapsed * plan_.rate); sent < due; ++sent) {
        if (outstanding_ < kMostOutstanding) {
          Send();
        } else {
          ++unsent_;
        }
      }
      std::this_thread::sleep_for(kTick);
    }
  }

  void Send() {
    ++outstanding_;
    const int number = next_++;
    auto* call = new Call;
    call->context.set_deadline(SteadyDeadline());
    call->request = NewClaim(name_space_, absl::StrCat("f", getpid(), "-", number));
    call->sent = SteadyClock::now();
    stubs_[static_cast<size_t>(number) % stubs_.size()]->async()->Claim(
        &call->context, &call->request, &call->response,
        [this, call](const grpc::Status& status) { Done(call, status); });
  }

  void Done(Call* call, const grpc::Status& status) {
    const auto now = SteadyClock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - call->sent).count();
    const std::string reason = status.ok() ? "" : ReasonOf(status);
    if (plan_.rate == 0 && !ended_) Send();
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      ok_ms_.push_back(ms);
      if (!ended_) ++in_time_;
    } else if (reason == "OVERLOADED") {
      rejected_ms_.push_back(ms);
      pushed_back_ += call->context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms");
    } else {
      ++others_[reason];
    }
    delete call;
    if (--outstanding_ == 0) none_left_.notify_all();
  }

  const std::string name_space_;
  const FloodPlan plan_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<v1::MachineIdService::Stub>> stubs_;
  SteadyClock::time_point start_;
  std::atomic<bool> ended_{false};
  std::atomic<int> outstanding_{0};
  std::atomic<int> next_{0};

  std::mutex mutex_;
  std::condition_variable none_left_;
  std::vector<double> ok_ms_;
  std::vector<double> rejected_ms_;
  std::map<std::string, int> others_;
  size_t in_time_ = 0;
  size_t pushed_back_ = 0;
  int unsent_ = 0;
};

}  // namespace

int Flood(const std::string& server, const std::string& name_space, const FloodPlan& plan) {
  Flooder flooder(server, name_space, plan);
  flooder.Run();
  flooder.ReportResults();
  return 0;
}

}  // namespace snowlease::testing
