// Load on an etcd server, to compare with `snowlease bench` at the same number of
// outstanding calls and connections.
//   snowlease-etcd-benchmark HOST:PORT grant|keepalive|put OUTSTANDING CHANNELS SECONDS
// grant: new leases; keepalive: of 2048 leases, one stream per connection; put: keys that
// each have one of 2048 leases. Prints one line of JSON: operations per second.

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "etcd.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "storage/clock.h"

namespace snowlease {
namespace {

using storage::Clock;
using storage::Millis;

constexpr int64_t kTtlSeconds = 600;
constexpr size_t kLeases = 2048;
constexpr size_t kValueBytes = 100;
constexpr Millis kWarmUp{500};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "snowlease-etcd-benchmark: %s\n", what.c_str());
  std::exit(1);
}

void OrFail(const grpc::Status& status) {
  if (!status.ok()) Fail(status.error_message());
}

struct Connection {
  explicit Connection(const std::shared_ptr<grpc::Channel>& channel)
      : kv(etcdserverpb::KV::NewStub(channel)), lease(etcdserverpb::Lease::NewStub(channel)) {}

  std::unique_ptr<etcdserverpb::KV::Stub> kv;
  std::unique_ptr<etcdserverpb::Lease::Stub> lease;
};

std::vector<Connection> Connect(const std::string& address, size_t count) {
  std::vector<Connection> connections;
  for (size_t i = 0; i < count; ++i) {
    grpc::ChannelArguments arguments;
    // Else channels with equal arguments share one connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    connections.emplace_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return connections;
}

// Calls still on their way, and how many were answered.
class Progress {
 public:
  bool stopping() const { return stop_.load(std::memory_order_relaxed); }
  uint64_t answered() const { return answered_.load(std::memory_order_relaxed); }
  void Answered() { answered_.fetch_add(1, std::memory_order_relaxed); }
  void Begin(size_t count) { active_ = count; }

  void End() {
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) ended_.notify_all();
  }

  void Sleep(Millis duration) {
    std::unique_lock lock(mutex_);
    const auto until = Clock::Real()->SteadyNow() + duration;
    while (Clock::Real()->SteadyNow() < until) Clock::Real()->WaitUntil(never_, lock, until);
  }

  void AwaitEnd() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return active_ == 0; });
  }

  void StopAndAwaitEnd() {
    stop_ = true;
    AwaitEnd();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> answered_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::condition_variable never_;
  size_t active_ = 0;  // guarded by mutex_
};

// One unary call at a time, again and again.
template <typename Request, typename Response>
class Slot {
 public:
  using Start = std::function<void(grpc::ClientContext*, const Request*, Response*,
                                   std::function<void(grpc::Status)>)>;
  using Done = std::function<void(const Response&)>;

  Slot(Progress* progress, Request request, Start start, Done done)
      : progress_(progress),
        request_(std::move(request)),
        start_(std::move(start)),
        done_(std::move(done)) {}

  void Go() {
    context_ = std::make_unique<grpc::ClientContext>();
    start_(context_.get(), &request_, &response_, [this](const grpc::Status& status) {
      OrFail(status);
      done_(response_);
      progress_->Answered();
      progress_->stopping() ? progress_->End() : Go();
    });
  }

 private:
  Progress* const progress_;
  const Request request_;
  const Start start_;
  const Done done_;
  std::unique_ptr<grpc::ClientContext> context_;
  Response response_;
};

// One stream with a number of keepalives on their way. Reads and writes are tracked
// apart: an answer may come before its write is reported done.
class KeepAliveStream final : public grpc::ClientBidiReactor<etcdserverpb::LeaseKeepAliveRequest,
                                                             etcdserverpb::LeaseKeepAliveResponse> {
 public:
  KeepAliveStream(etcdserverpb::Lease::Stub* stub, Progress* progress, std::deque<int64_t> leases,
                  size_t outstanding)
      : progress_(progress), leases_(std::move(leases)), due_(outstanding) {
    stub->async()->LeaseKeepAlive(&context_, this);
    AddHold();
    WriteNext();
    StartRead(&response_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (due_ > 0) WriteNext();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      if (!closed_) Fail("the stream of keepalives broke");
      return;
    }
    if (response_.ttl() <= 0) Fail("a lease was not there any more");
    progress_->Answered();
    const std::lock_guard lock(mutex_);
    StartRead(&response_);
    if (progress_->stopping()) {
      if (!closed_.exchange(true)) {
        context_.TryCancel();
        RemoveHold();
      }
      return;
    }
    ++due_;
    if (!writing_) WriteNext();
  }

  void OnDone(const grpc::Status&) override {
    if (!closed_) Fail("the stream of keepalives ended");
    progress_->End();
  }

 private:
  // With mutex_ held, or before the call starts.
  void WriteNext() {
    writing_ = true;
    --due_;
    request_.set_id(leases_.front());
    leases_.push_back(leases_.front());
    leases_.pop_front();
    StartWrite(&request_);
  }

  Progress* const progress_;
  std::mutex mutex_;
  std::deque<int64_t> leases_;  // guarded by mutex_
  size_t due_;                  // to be written; guarded by mutex_
  bool writing_ = false;        // guarded by mutex_
  std::atomic<bool> closed_{false};
  grpc::ClientContext context_;
  etcdserverpb::LeaseKeepAliveRequest request_;
  etcdserverpb::LeaseKeepAliveResponse response_;
};

using GrantSlot = Slot<etcdserverpb::LeaseGrantRequest, etcdserverpb::LeaseGrantResponse>;
using PutSlot = Slot<etcdserverpb::PutRequest, etcdserverpb::PutResponse>;

GrantSlot NewGrantSlot(Connection* connection, Progress* progress, GrantSlot::Done done) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(kTtlSeconds);
  return {progress, request,
          [connection](auto* context, const auto* message, auto* response, auto finish) {
            connection->lease->async()->LeaseGrant(context, message, response, std::move(finish));
          },
          std::move(done)};
}

// Leases for the other loads.
std::vector<int64_t> Grant(std::vector<Connection>& connections, size_t count) {
  Progress progress;
  std::mutex mutex;
  std::vector<int64_t> ids;
  std::deque<GrantSlot> slots;
  for (size_t i = 0; i < 64; ++i) {
    slots.push_back(
        NewGrantSlot(&connections[i % connections.size()], &progress, [&](const auto& response) {
          const std::lock_guard lock(mutex);
          ids.push_back(response.id());
        }));
  }
  progress.Begin(slots.size());
  for (GrantSlot& slot : slots) slot.Go();
  while (progress.answered() < count) progress.Sleep(Millis(5));
  progress.StopAndAwaitEnd();
  return ids;
}

double Measure(Progress& progress, double seconds) {
  progress.Sleep(kWarmUp);
  const uint64_t before = progress.answered();
  const auto start = Clock::Real()->SteadyNow();
  progress.Sleep(Millis(static_cast<int64_t>(seconds * 1000)));
  const uint64_t answered = progress.answered() - before;
  const double elapsed = std::chrono::duration<double>(Clock::Real()->SteadyNow() - start).count();
  progress.StopAndAwaitEnd();
  return static_cast<double>(answered) / elapsed;
}

double MeasureGrants(std::vector<Connection>& connections, size_t outstanding, double seconds) {
  Progress progress;
  std::deque<GrantSlot> slots;
  for (size_t i = 0; i < outstanding; ++i) {
    slots.push_back(
        NewGrantSlot(&connections[i % connections.size()], &progress, [](const auto&) {}));
  }
  progress.Begin(outstanding);
  for (GrantSlot& slot : slots) slot.Go();
  return Measure(progress, seconds);
}

double MeasurePuts(std::vector<Connection>& connections, size_t outstanding, double seconds) {
  const std::vector<int64_t> leases = Grant(connections, kLeases);
  Progress progress;
  std::deque<PutSlot> slots;
  for (size_t i = 0; i < outstanding; ++i) {
    Connection* const connection = &connections[i % connections.size()];
    etcdserverpb::PutRequest request;
    request.set_key("bench/" + std::to_string(i));
    request.set_value(std::string(kValueBytes, 'x'));
    request.set_lease(leases[i % leases.size()]);
    slots.emplace_back(
        &progress, request,
        [connection](auto* context, const auto* message, auto* response, auto finish) {
          connection->kv->async()->Put(context, message, response, std::move(finish));
        },
        [](const auto&) {});
  }
  progress.Begin(outstanding);
  for (PutSlot& slot : slots) slot.Go();
  return Measure(progress, seconds);
}

double MeasureKeepAlives(std::vector<Connection>& connections, size_t outstanding, double seconds) {
  const std::vector<int64_t> leases = Grant(connections, kLeases);
  Progress progress;
  progress.Begin(connections.size());
  std::vector<std::deque<int64_t>> parts(connections.size());
  for (size_t i = 0; i < leases.size(); ++i) parts[i % parts.size()].push_back(leases[i]);
  std::vector<std::unique_ptr<KeepAliveStream>> streams;
  for (size_t i = 0; i < connections.size(); ++i) {
    streams.push_back(std::make_unique<KeepAliveStream>(
        connections[i].lease.get(), &progress, parts[i], outstanding / connections.size()));
  }
  return Measure(progress, seconds);
}

}  // namespace
}  // namespace snowlease

int main(int argc, char** argv) {
  const std::string load = argc > 2 ? argv[2] : "";
  const size_t outstanding = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0;
  const size_t channels = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 0;
  const double seconds = argc > 5 ? std::atof(argv[5]) : 0;
  const bool known = load == "grant" || load == "keepalive" || load == "put";
  if (argc != 6 || !known || channels < 1 || outstanding < channels || seconds <= 0) {
    std::fprintf(stderr,
                 "usage: snowlease-etcd-benchmark HOST:PORT grant|keepalive|put OUTSTANDING "
                 "CHANNELS SECONDS\n");
    return 2;
  }
  auto connections = snowlease::Connect(argv[1], channels);
  const double rate = load == "grant" ? snowlease::MeasureGrants(connections, outstanding, seconds)
                      : load == "put"
                          ? snowlease::MeasurePuts(connections, outstanding, seconds)
                          : snowlease::MeasureKeepAlives(connections, outstanding, seconds);
  std::printf("{\"load\": \"%s\", \"outstanding\": %zu, \"channels\": %zu, \"per_second\": %.0f}\n",
              load.c_str(), outstanding, channels, rate);
  return 0;
}
