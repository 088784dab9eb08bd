#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "service/batching/blocking_executor.h"
#include "service/batching/group_committer.h"
#include "service/rpc/call_context.h"
#include "service/rpc/namespace_policy.h"
#include "snowlease/v1/machine_id.pb.h"
#include "storage/clock.h"
#include "storage/lease_store.h"

namespace snowlease::service {

struct HandlerOptions {
  NamespaceCreation namespace_creation;
  // Depth of the committer's queue that counts as full load; renewals are spread out
  // towards it.
  size_t full_queue = 8192;
  // In [-1, 1), moves the time of the next renewal; empty: random.
  std::function<double()> jitter;
};

// MachineIdService without a transport: validates, converts and enqueues; gRPC and
// the JSON gateway share it. Never blocks. Thread-safe. `done` is called exactly
// once, from a store thread or before the call returns. What it points to must
// outlive it.
class MachineIdHandler {
 public:
  template <typename Response>
  using Done = std::function<void(absl::StatusOr<Response>)>;

  MachineIdHandler(GroupCommitter* committer, storage::LeaseStore* store,
                   BlockingExecutor* executor, storage::Clock* clock, HandlerOptions options);

  void Claim(const v1::ClaimRequest& request, const CallContext& context,
             Done<v1::ClaimResponse> done);
  void Renew(const v1::RenewRequest& request, const CallContext& context,
             Done<v1::RenewResponse> done);
  void Release(const v1::ReleaseRequest& request, const CallContext& context,
               Done<v1::ReleaseResponse> done);
  void Watermark(const v1::WatermarkRequest& request, const CallContext& context,
                 Done<v1::WatermarkResponse> done);
  // As Renew, for streams.
  void RenewLease(const v1::RenewRequest& request, const CallContext& context,
                  Done<v1::Lease> done);

 private:
  v1::Lease Answer(const storage::Lease& lease) const;
  void ReadWatermark(const v1::WatermarkRequest& request, const CallContext& context,
                     Done<v1::WatermarkResponse> done);

  GroupCommitter* const committer_;
  storage::LeaseStore* const store_;
  BlockingExecutor* const executor_;
  storage::Clock* const clock_;
  const HandlerOptions options_;
};

}  // namespace snowlease::service
