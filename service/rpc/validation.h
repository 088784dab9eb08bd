#pragma once

#include "absl/status/status.h"
#include "snowlease/v1/admin.pb.h"
#include "snowlease/v1/machine_id.pb.h"

// Is a request within the API's limits? OK, or INVALID_ARGUMENT with every violated
// field at once, each with what to do. Pure; knows nothing of the store.

namespace snowlease::service {

inline constexpr int kMaxRenewalsPerMessage = 1024;

absl::Status Validate(const v1::ClaimRequest& request);
absl::Status Validate(const v1::RenewRequest& request);
absl::Status Validate(const v1::ReleaseRequest& request);
absl::Status Validate(const v1::WatermarkRequest& request);
// Only the number of renewals; each is then validated for itself.
absl::Status Validate(const v1::KeepAliveRequest& request);

absl::Status Validate(const v1::ListNamespacesRequest& request);
absl::Status Validate(const v1::GetNamespaceRequest& request);
absl::Status Validate(const v1::UpdateNamespaceRequest& request);
absl::Status Validate(const v1::DeleteNamespaceRequest& request);
absl::Status Validate(const v1::ListLeasesRequest& request);
absl::Status Validate(const v1::GetLeaseRequest& request);
absl::Status Validate(const v1::ForceReleaseRequest& request);
absl::Status Validate(const v1::ReserveIdsRequest& request);
absl::Status Validate(const v1::UnreserveIdsRequest& request);
absl::Status Validate(const v1::FindOwnerRequest& request);

}  // namespace snowlease::service
