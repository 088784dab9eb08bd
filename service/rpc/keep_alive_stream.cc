#include "service/rpc/keep_alive_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "grpc/support/time.h"
#include "service/rpc/grpc_call.h"
#include "service/rpc/renew_pacing.h"
#include "service/rpc/status_table.h"
#include "service/rpc/validation.h"
#include "service/rpc/wire.h"

namespace snowlease::service {

std::shared_ptr<KeepAliveStream> KeepAliveStream::Start(
    MachineIdHandler* handler, storage::Clock* clock, grpc::CallbackServerContext* context,
    storage::Millis default_deadline, KeepAliveOptions options, CallCounter counter,
    std::function<void(KeepAliveStream*)> on_done) {
  std::shared_ptr<KeepAliveStream> stream(new KeepAliveStream(
      handler, clock, context, default_deadline, options, counter, std::move(on_done)));
  stream->self_ = stream;
  if (options.max_age > storage::Millis(0)) stream->SetAgeAlarm();
  stream->Advance(std::unique_lock(stream->mutex_));
  return stream;
}

KeepAliveStream::KeepAliveStream(MachineIdHandler* handler, storage::Clock* clock,
                                 grpc::CallbackServerContext* context,
                                 storage::Millis default_deadline, KeepAliveOptions options,
                                 CallCounter counter, std::function<void(KeepAliveStream*)> on_done)
    : handler_(handler),
      clock_(clock),
      context_(context),
      default_deadline_(default_deadline),
      options_(options),
      counter_(counter),
      on_done_(std::move(on_done)) {}

void KeepAliveStream::SetAgeAlarm() {
  // Spread, so that streams opened together do not come back together.
  const double spread = 0.9 + 0.1 * RandomJitter();
  const auto age = static_cast<int64_t>(static_cast<double>(options_.max_age.count()) * spread);
  const gpr_timespec at =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(age, GPR_TIMESPAN));
  // Weak: the alarm keeps its function, and with it would keep the stream that owns it.
  age_alarm_.Set(at, [weak = weak_from_this()](bool fired) {
    if (!fired) return;
    if (const auto stream = weak.lock()) stream->HalfClose();
  });
}

void KeepAliveStream::HalfClose() { EndWith(absl::OkStatus()); }

void KeepAliveStream::EndWith(const absl::Status& status) {
  std::unique_lock lock(mutex_);
  read_closed_ = true;
  if (end_status_.ok()) end_status_ = status;
  Advance(std::move(lock));
}

void KeepAliveStream::OnReadDone(bool ok) {
  {
    std::unique_lock lock(mutex_);
    reading_ = false;
    if (!ok) read_closed_ = true;
    if (!ok || broken_ || finished_) return Advance(std::move(lock));
    dispatching_ = true;
  }
  Dispatch();
  std::unique_lock lock(mutex_);
  dispatching_ = false;
  Advance(std::move(lock));
}

void KeepAliveStream::OnWriteDone(bool ok) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  if (!ok) broken_ = true;
  Advance(std::move(lock));
}

void KeepAliveStream::OnCancel() {
  std::unique_lock lock(mutex_);
  broken_ = true;
  Advance(std::move(lock));
}

void KeepAliveStream::OnDone() {
  age_alarm_.Cancel();
  on_done_(this);
  // May be the last reference.
  const std::shared_ptr<KeepAliveStream> self = std::move(self_);
}

void KeepAliveStream::Dispatch() {
  const CallContext call{DeadlineOf(*context_, *clock_, default_deadline_), ""};
  v1::KeepAliveRequest request;
  if (const absl::Status status = ParseMessage(in_, &request); !status.ok()) {
    return DispatchSalvaged(call, status);
  }
  if (!Accept(request.renewals_size())) return EndWith(Validate(request));
  for (const v1::Renewal& renewal : request.renewals()) {
    Renew(renewal.tag(), renewal.renew(), call);
  }
}

void KeepAliveStream::DispatchSalvaged(const CallContext& call, const absl::Status& parse_status) {
  const auto renewals = SalvageRenewals(in_);
  if (!renewals.ok() || renewals->empty() ||
      !Accept(static_cast<int>(std::min(renewals->size(), size_t{kMaxRenewalsPerMessage} + 1)))) {
    return EndWith(parse_status);
  }
  for (const SalvagedRenewal& renewal : *renewals) {
    if (renewal.renew.ok()) {
      Renew(renewal.tag, *renewal.renew, call);
    } else {
      Answer(renewal.tag, renewal.renew.status());
    }
  }
}

bool KeepAliveStream::Accept(int renewals) {
  if (renewals > kMaxRenewalsPerMessage) return false;
  const std::lock_guard lock(mutex_);
  unanswered_ += renewals;
  return true;
}

void KeepAliveStream::Renew(uint64_t tag, const v1::RenewRequest& request,
                            const CallContext& call) {
  handler_->RenewLease(request, call,
                       [self = shared_from_this(), tag](absl::StatusOr<v1::Lease> lease) {
                         self->Answer(tag, std::move(lease));
                       });
}

void KeepAliveStream::Answer(uint64_t tag, absl::StatusOr<v1::Lease> lease) {
  v1::RenewalResult result;
  result.set_tag(tag);
  if (lease.ok()) {
    *result.mutable_lease() = *std::move(lease);
  } else {
    *result.mutable_error() = ToRpcStatus(lease.status());
  }
  std::unique_lock lock(mutex_);
  --unanswered_;
  *ready_.Add() = std::move(result);
  Advance(std::move(lock));
}

v1::KeepAliveResponse KeepAliveStream::TakeReady() {
  v1::KeepAliveResponse batch;
  if (ready_.size() <= kMaxRenewalsPerMessage) {
    batch.mutable_results()->Swap(&ready_);
    return batch;
  }
  std::vector<v1::RenewalResult*> first(kMaxRenewalsPerMessage);
  ready_.ExtractSubrange(0, kMaxRenewalsPerMessage, first.data());
  for (v1::RenewalResult* result : first) batch.mutable_results()->AddAllocated(result);
  return batch;
}

void KeepAliveStream::Advance(std::unique_lock<std::mutex> lock) {
  if (finished_) return;
  if (broken_) ready_.Clear();
  // The flags keep others from starting a second write or ending the stream under one,
  // whichever side comes back first, so it is made and started without the lock.
  const bool write = !writing_ && !dispatching_ && !ready_.empty();
  v1::KeepAliveResponse batch;
  if (write) {
    writing_ = true;
    batch = TakeReady();
  }
  const bool read = !reading_ && !dispatching_ && !read_closed_ && !broken_ &&
                    unanswered_ + ready_.size() < options_.max_unanswered;
  if (read) {
    reading_ = true;
    StartRead(&in_);  // under the lock: once the stream is finished no read may start
  }
  const bool finish =
      (read_closed_ || broken_) && !dispatching_ && unanswered_ == 0 && !writing_ && ready_.empty();
  finished_ = finish;
  lock.unlock();

  if (write) {
    SerializeMessage(batch, &out_);
    StartWrite(&out_);
  }
  if (!finish) return;
  const grpc::Status end = broken_ ? grpc::Status::CANCELLED : ToGrpcStatus(end_status_);
  counter_.Count(end.error_code());
  Finish(end);
}

}  // namespace snowlease::service
