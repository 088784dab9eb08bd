#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "snowlease/v1/admin.pb.h"
#include "snowlease/v1/machine_id.pb.h"
#include "storage/lease.h"

// The only place where the API's messages and the store's records meet. Requests
// must have passed Validate.

namespace snowlease::service {

storage::ClaimSpec ToClaimSpec(const v1::ClaimRequest& request);
storage::RenewSpec ToRenewSpec(const v1::RenewRequest& request);
storage::ReleaseSpec ToReleaseSpec(const v1::ReleaseRequest& request);
// The request must have `raise`.
storage::RaiseSpec ToRaiseSpec(const v1::WatermarkRequest& request);
storage::NamespaceUpdate ToNamespaceUpdate(const v1::UpdateNamespaceRequest& request);
storage::ForceReleaseSpec ToForceReleaseSpec(const v1::ForceReleaseRequest& request);
storage::LeaseFilter ToLeaseFilter(const v1::ListLeasesRequest& request);

// What the server adds to a lease of the store.
struct LeaseExtras {
  std::string store_id;
  std::optional<std::chrono::nanoseconds> renew_after;  // none: the client's own delay
};
v1::Lease ToLease(const storage::Lease& lease, const LeaseExtras& extras);
v1::WatermarkResponse ToWatermarkResponse(const storage::WatermarkReading& reading);
v1::Namespace ToNamespace(const storage::NamespaceRow& row);
v1::Namespace ToNamespace(const storage::NamespaceDetail& detail);
v1::LeaseRecord ToLeaseRecord(const storage::LeaseDetail& detail);
v1::Grant ToGrant(const storage::GrantRow& row);

}  // namespace snowlease::service
