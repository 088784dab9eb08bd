#pragma once

#include "absl/status/statusor.h"
#include "service/rpc/call_context.h"
#include "snowlease/v1/admin.pb.h"
#include "storage/clock.h"
#include "storage/lease_store.h"

namespace snowlease::service {

struct AdminHandlerOptions {
  bool enabled = false;  // every call answers ADMIN_DISABLED otherwise
};

// AdminService without a transport; gRPC and the JSON gateway share it. Calls block
// on the store, so transports run them on a BlockingExecutor. Thread-safe. The store
// and the clock must outlive it. Errors: those of the RPCs, ADMIN_DISABLED, and
// STORE_TIMEOUT when the deadline passed before the store was asked.
class AdminHandler {
 public:
  AdminHandler(storage::LeaseStore* store, storage::Clock* clock, AdminHandlerOptions options);

  absl::StatusOr<v1::ListNamespacesResponse> ListNamespaces(
      const v1::ListNamespacesRequest& request, const CallContext& context);
  absl::StatusOr<v1::GetNamespaceResponse> GetNamespace(const v1::GetNamespaceRequest& request,
                                                        const CallContext& context);
  absl::StatusOr<v1::UpdateNamespaceResponse> UpdateNamespace(
      const v1::UpdateNamespaceRequest& request, const CallContext& context);
  absl::StatusOr<v1::DeleteNamespaceResponse> DeleteNamespace(
      const v1::DeleteNamespaceRequest& request, const CallContext& context);
  absl::StatusOr<v1::ListLeasesResponse> ListLeases(const v1::ListLeasesRequest& request,
                                                    const CallContext& context);
  absl::StatusOr<v1::GetLeaseResponse> GetLease(const v1::GetLeaseRequest& request,
                                                const CallContext& context);
  absl::StatusOr<v1::ForceReleaseResponse> ForceRelease(const v1::ForceReleaseRequest& request,
                                                        const CallContext& context);
  absl::StatusOr<v1::ReserveIdsResponse> ReserveIds(const v1::ReserveIdsRequest& request,
                                                    const CallContext& context);
  absl::StatusOr<v1::UnreserveIdsResponse> UnreserveIds(const v1::UnreserveIdsRequest& request,
                                                        const CallContext& context);
  absl::StatusOr<v1::FindOwnerResponse> FindOwner(const v1::FindOwnerRequest& request,
                                                  const CallContext& context);

 private:
  // Is the call allowed, well-formed and in time?
  template <typename Request>
  absl::Status Check(const Request& request, const CallContext& context) const;

  storage::LeaseStore* const store_;
  storage::Clock* const clock_;
  const AdminHandlerOptions options_;
};

}  // namespace snowlease::service
