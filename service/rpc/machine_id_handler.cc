#include "service/rpc/machine_id_handler.h"

#include <utility>

#include "service/rpc/converters.h"
#include "service/rpc/renew_pacing.h"
#include "service/rpc/validation.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

// How long a caller stays away when the threads for reads are all busy.
constexpr storage::Millis kReadPushback{200};

}  // namespace

MachineIdHandler::MachineIdHandler(GroupCommitter* committer, storage::LeaseStore* store,
                                   BlockingExecutor* executor, storage::Clock* clock,
                                   HandlerOptions options)
    : committer_(committer),
      store_(store),
      executor_(executor),
      clock_(clock),
      options_(std::move(options)) {}

v1::Lease MachineIdHandler::Answer(const storage::Lease& lease) const {
  const double full = static_cast<double>(options_.full_queue);
  const double load = full > 0 ? static_cast<double>(committer_->QueueDepth()) / full : 0;
  const double jitter = options_.jitter ? options_.jitter() : RandomJitter();
  return ToLease(lease, {store_->StoreId(), RenewAfter(lease.row, load, jitter)});
}

void MachineIdHandler::Claim(const v1::ClaimRequest& request, const CallContext& context,
                             Done<v1::ClaimResponse> done) {
  if (const absl::Status status = Validate(request); !status.ok()) return done(status);
  storage::ClaimSpec spec = ToClaimSpec(request);
  spec.may_create_namespace = options_.namespace_creation.Allows(spec.name_space);
  committer_->Claim(std::move(spec), context.deadline,
                    [this, done = std::move(done)](absl::StatusOr<storage::Lease> lease) {
                      if (!lease.ok()) return done(lease.status());
                      v1::ClaimResponse response;
                      *response.mutable_lease() = Answer(*lease);
                      done(std::move(response));
                    });
}

void MachineIdHandler::Renew(const v1::RenewRequest& request, const CallContext& context,
                             Done<v1::RenewResponse> done) {
  RenewLease(request, context, [done = std::move(done)](absl::StatusOr<v1::Lease> lease) {
    if (!lease.ok()) return done(lease.status());
    v1::RenewResponse response;
    *response.mutable_lease() = *std::move(lease);
    done(std::move(response));
  });
}

void MachineIdHandler::RenewLease(const v1::RenewRequest& request, const CallContext& context,
                                  Done<v1::Lease> done) {
  if (const absl::Status status = Validate(request); !status.ok()) return done(status);
  committer_->Renew(ToRenewSpec(request), context.deadline,
                    [this, done = std::move(done)](absl::StatusOr<storage::Lease> lease) {
                      if (!lease.ok()) return done(lease.status());
                      done(Answer(*lease));
                    });
}

void MachineIdHandler::Release(const v1::ReleaseRequest& request, const CallContext& context,
                               Done<v1::ReleaseResponse> done) {
  if (const absl::Status status = Validate(request); !status.ok()) return done(status);
  committer_->Release(ToReleaseSpec(request), context.deadline,
                      [done = std::move(done)](const absl::Status& status) {
                        if (!status.ok()) return done(status);
                        done(v1::ReleaseResponse());
                      });
}

void MachineIdHandler::Watermark(const v1::WatermarkRequest& request, const CallContext& context,
                                 Done<v1::WatermarkResponse> done) {
  if (const absl::Status status = Validate(request); !status.ok()) return done(status);
  if (!request.has_raise()) return ReadWatermark(request, context, std::move(done));
  committer_->RaiseWatermark(
      ToRaiseSpec(request), context.deadline,
      [done = std::move(done)](const absl::StatusOr<storage::WatermarkReading>& reading) {
        if (!reading.ok()) return done(reading.status());
        done(ToWatermarkResponse(*reading));
      });
}

void MachineIdHandler::ReadWatermark(const v1::WatermarkRequest& request,
                                     const CallContext& context, Done<v1::WatermarkResponse> done) {
  const auto read = [this, name_space = request.namespace_(), machine_id = request.machine_id(),
                     deadline = context.deadline, done]() {
    if (clock_->SteadyNow() >= deadline) {
      return done(storage::StoreTimeoutError("the deadline passed before the read began"));
    }
    const auto reading = store_->GetWatermark(name_space, machine_id);
    if (!reading.ok()) return done(reading.status());
    done(ToWatermarkResponse(*reading));
  };
  if (!executor_->TryRun(read)) {
    done(storage::OverloadedError("too many reads at a time", kReadPushback));
  }
}

}  // namespace snowlease::service
