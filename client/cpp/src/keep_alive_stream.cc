#include "client/cpp/src/keep_alive_stream.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include "absl/container/flat_hash_map.h"
#include "snowlease/grpc.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kMostRenewalsInAMessage = 1024;

struct Pending {
  uint64_t tag = 0;
  v1::RenewRequest request{};
  KeepAliveStream::Done done{};
  nanoseconds deadline{0};
  int failures = 0;           // streams that broke under it
  uint64_t answers_seen = 0;  // of its stream, when it was sent
};

// Answers to give once no lock is held.
using Answers = std::vector<std::pair<KeepAliveStream::Done, absl::StatusOr<v1::Lease>>>;

class Core;

// One gRPC stream; lives until gRPC is done with it. All but the two messages is
// guarded by the core's mutex.
class Session final : public grpc::ClientBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse> {
 public:
  explicit Session(std::shared_ptr<Core> owner) : core(std::move(owner)) {}

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::shared_ptr<Core> core;
  grpc::ClientContext context;
  v1::KeepAliveRequest out;
  v1::KeepAliveResponse in;
  // A reply can arrive before OnWriteDone of its request: the two directions are
  // tracked apart.
  bool writing = false;
  bool ended = false;     // reads are over: nothing may be written any more
  bool given_up = false;  // cancelled by the core because it was silent
  uint64_t answers = 0;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(const KeepAliveOptions& options, const RetryOptions& retry,
       std::shared_ptr<EndpointPool> endpoints, Clock* clock)
      : options_(options), retry_(retry), endpoints_(std::move(endpoints)), clock_(clock) {
    options_.max_renewals_per_message =
        std::clamp(options.max_renewals_per_message, 1, kMostRenewalsInAMessage);
  }

  void Renew(std::vector<KeepAliveStream::Renewal> renewals);
  void Close();

  void ReadDone(Session* session, bool ok);
  void WriteDone(Session* session, bool ok);
  void Done(Session* session, const grpc::Status& status);

 private:
  // All with mutex_ held.
  void Pump();
  void Open();
  void Write();
  void ArmExpiry();
  void TakeResults(v1::KeepAliveResponse& response, Answers& answers);
  void Requeue(const absl::Status& failure, Answers& answers);
  void FailAll(const absl::Status& status, Answers& answers);
  void BackOff();

  // Alarms.
  void Expire();
  void EndBackOff();

  // Gives the answers without the lock; Close waits for it.
  void Deliver(std::unique_lock<std::mutex>& lock, Answers& answers);

  KeepAliveOptions options_;
  const RetryOptions retry_;
  const std::shared_ptr<EndpointPool> endpoints_;
  Clock* const clock_;

  std::mutex mutex_;
  std::condition_variable idle_;
  bool closed_ = false;
  int delivering_ = 0;
  uint64_t next_tag_ = 1;
  std::deque<Pending> queue_;
  absl::flat_hash_map<uint64_t, Pending> in_flight_;  // all of session_
  Session* session_ = nullptr;                        // deletes itself when done
  int failures_ = 0;                                  // streams in a row without an answer
  bool backing_off_ = false;
  bool expiry_armed_ = false;
  std::unique_ptr<grpc::Alarm> backoff_alarm_;
  std::unique_ptr<grpc::Alarm> expiry_alarm_;
  std::mt19937_64 random_{std::random_device{}()};
};

void Session::OnReadDone(bool ok) { core->ReadDone(this, ok); }
void Session::OnWriteDone(bool ok) { core->WriteDone(this, ok); }
void Session::OnDone(const grpc::Status& status) {
  core->Done(this, status);
  delete this;
}

void Core::Renew(std::vector<KeepAliveStream::Renewal> renewals) {
  std::unique_lock lock(mutex_);
  Answers answers;
  const nanoseconds deadline = clock_->SteadyNow() + options_.timeout;
  for (auto& renewal : renewals) {
    if (closed_) {
      answers.emplace_back(std::move(renewal.done), absl::CancelledError("the stream is closed"));
      continue;
    }
    queue_.push_back({.tag = next_tag_++,
                      .request = std::move(renewal.request),
                      .done = std::move(renewal.done),
                      .deadline = deadline});
  }
  if (!closed_) {
    Pump();
    ArmExpiry();
  }
  Deliver(lock, answers);
}

void Core::Pump() {
  if (closed_ || queue_.empty()) return;
  if (session_ == nullptr && !backing_off_) Open();
  if (session_ != nullptr && !session_->writing && !session_->ended) Write();
}

void Core::Open() {
  session_ = new Session(shared_from_this());
  endpoints_->Next().machine_ids->async()->KeepAlive(&session_->context, session_);
  // Writes are started from other threads than the reactor's: without the hold gRPC
  // could be done with the stream in between.
  session_->AddHold();
  session_->StartRead(&session_->in);
  session_->StartCall();
}

void Core::Write() {
  v1::KeepAliveRequest& message = session_->out;
  message.Clear();
  const auto most = static_cast<size_t>(options_.max_renewals_per_message);
  for (size_t count = std::min(queue_.size(), most); count > 0; --count) {
    Pending pending = std::move(queue_.front());
    queue_.pop_front();
    auto* renewal = message.add_renewals();
    renewal->set_tag(pending.tag);
    *renewal->mutable_renew() = pending.request;
    pending.answers_seen = session_->answers;
    in_flight_.emplace(pending.tag, std::move(pending));
  }
  session_->writing = true;
  session_->StartWrite(&message);
}

void Core::ReadDone(Session* session, bool ok) {
  std::unique_lock lock(mutex_);
  if (!ok) {
    session->ended = true;
    session->RemoveHold();
    return;
  }
  Answers answers;
  ++session->answers;
  failures_ = 0;
  TakeResults(session->in, answers);
  session->StartRead(&session->in);
  Deliver(lock, answers);
}

void Core::TakeResults(v1::KeepAliveResponse& response, Answers& answers) {
  for (auto& result : *response.mutable_results()) {
    const auto found = in_flight_.find(result.tag());
    if (found == in_flight_.end()) continue;  // it has expired meanwhile
    absl::StatusOr<v1::Lease> answer = absl::InternalError("the server answered without a result");
    if (result.has_lease()) {
      answer = std::move(*result.mutable_lease());
    } else if (result.has_error()) {
      answer = FromRpcStatus(result.error());
    }
    answers.emplace_back(std::move(found->second.done), std::move(answer));
    in_flight_.erase(found);
  }
}

void Core::WriteDone(Session* session, bool ok) {
  std::lock_guard lock(mutex_);
  session->writing = false;
  // A failed write: the read fails as well and OnDone tells why.
  if (ok) Pump();
}

void Core::Done(Session* session, const grpc::Status& status) {
  std::unique_lock lock(mutex_);
  Answers answers;
  session_ = nullptr;
  const bool answered = session->answers > 0;
  const absl::Status failure =
      session->given_up ? absl::UnavailableError("the server did not answer on the stream")
                        : FromGrpcStatus(status, session->context);
  if (!failure.ok() && !closed_ && !IsRetryable(failure)) {
    FailAll(failure, answers);
  } else if (!closed_) {
    Requeue(failure, answers);
    // A server that closes its side after its answers (drain, connection age) is
    // not in trouble, and there may be others.
    if (!failure.ok() || !answered) BackOff();
    Pump();
  }
  idle_.notify_all();
  Deliver(lock, answers);
}

void Core::Requeue(const absl::Status& failure, Answers& answers) {
  std::vector<Pending> unanswered;
  unanswered.reserve(in_flight_.size());
  for (auto& [tag, pending] : in_flight_) unanswered.push_back(std::move(pending));
  in_flight_.clear();
  std::sort(unanswered.begin(), unanswered.end(),
            [](const Pending& a, const Pending& b) { return a.tag > b.tag; });
  for (Pending& pending : unanswered) {
    if (!failure.ok() && ++pending.failures >= retry_.max_attempts) {
      answers.emplace_back(std::move(pending.done), failure);
    } else {
      queue_.push_front(std::move(pending));
    }
  }
}

void Core::FailAll(const absl::Status& status, Answers& answers) {
  for (auto& [tag, pending] : in_flight_) answers.emplace_back(std::move(pending.done), status);
  for (Pending& pending : queue_) answers.emplace_back(std::move(pending.done), status);
  in_flight_.clear();
  queue_.clear();
}

void Core::BackOff() {
  backing_off_ = true;
  ++failures_;
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  // An alarm that is set again from its own callback destroys the callback under
  // itself: each wait has its own.
  backoff_alarm_ = std::make_unique<grpc::Alarm>();
  backoff_alarm_->Set(DeadlineIn(BackoffAfter(retry_, failures_, random)),
                      [self = shared_from_this()](bool) { self->EndBackOff(); });
}

void Core::EndBackOff() {
  std::lock_guard lock(mutex_);
  backing_off_ = false;
  Pump();
  idle_.notify_all();
}

void Core::ArmExpiry() {
  if (closed_ || expiry_armed_ || (queue_.empty() && in_flight_.empty())) return;
  expiry_armed_ = true;
  const milliseconds step = std::clamp(options_.timeout / 8, milliseconds(10), milliseconds(1000));
  expiry_alarm_ = std::make_unique<grpc::Alarm>();
  expiry_alarm_->Set(DeadlineIn(step), [self = shared_from_this()](bool) { self->Expire(); });
}

void Core::Expire() {
  std::unique_lock lock(mutex_);
  expiry_armed_ = false;
  Answers answers;
  const nanoseconds now = clock_->SteadyNow();
  const auto late = [now](const Pending& pending) { return pending.deadline <= now; };
  const absl::Status status = absl::DeadlineExceededError("the renewal was not answered in time");
  bool silent = false;
  for (auto entry = in_flight_.begin(); entry != in_flight_.end();) {
    const auto current = entry++;
    if (!late(current->second)) continue;
    silent = silent || (session_ != nullptr && current->second.answers_seen == session_->answers);
    answers.emplace_back(std::move(current->second.done), status);
    in_flight_.erase(current);
  }
  for (auto pending = queue_.begin(); pending != queue_.end();) {
    if (!late(*pending)) {
      ++pending;
      continue;
    }
    answers.emplace_back(std::move(pending->done), status);
    pending = queue_.erase(pending);
  }
  // Not one answer since: another connection may do better.
  if (silent) {
    session_->given_up = true;
    session_->context.TryCancel();
  }
  ArmExpiry();
  idle_.notify_all();
  Deliver(lock, answers);
}

void Core::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  Answers answers;
  FailAll(absl::CancelledError("the stream is closed"), answers);
  if (session_ != nullptr) session_->context.TryCancel();
  if (backoff_alarm_) backoff_alarm_->Cancel();
  if (expiry_alarm_) expiry_alarm_->Cancel();
  Deliver(lock, answers);
  idle_.wait(lock, [this] {
    return session_ == nullptr && delivering_ == 0 && !backing_off_ && !expiry_armed_;
  });
}

void Core::Deliver(std::unique_lock<std::mutex>& lock, Answers& answers) {
  if (answers.empty()) return;
  ++delivering_;
  lock.unlock();
  for (auto& [done, answer] : answers) done(std::move(answer));
  lock.lock();
  --delivering_;
  idle_.notify_all();
}

class KeepAliveStreamImpl final : public KeepAliveStream {
 public:
  explicit KeepAliveStreamImpl(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  ~KeepAliveStreamImpl() override { core_->Close(); }

  void Renew(v1::RenewRequest request, Done done) override {
    std::vector<Renewal> renewals;
    renewals.push_back({std::move(request), std::move(done)});
    core_->Renew(std::move(renewals));
  }
  void Renew(std::vector<Renewal> renewals) override { core_->Renew(std::move(renewals)); }
  void Close() override { core_->Close(); }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::unique_ptr<KeepAliveStream> NewKeepAliveStream(const KeepAliveOptions& options,
                                                    const RetryOptions& retry,
                                                    std::shared_ptr<EndpointPool> endpoints,
                                                    Clock* clock) {
  return std::make_unique<KeepAliveStreamImpl>(
      std::make_shared<Core>(options, retry, std::move(endpoints), clock));
}

}  // namespace snowlease::client
