#include "service/rpc/admin_handler.h"

#include <charconv>
#include <vector>

#include "service/rpc/converters.h"
#include "service/rpc/page_token.h"
#include "service/rpc/validation.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

constexpr int kDefaultPageSize = 100;

int PageSize(int asked) { return asked == 0 ? kDefaultPageSize : asked; }

storage::AdminContext Audit(const CallContext& context, const std::string& reason) {
  return {context.principal.empty() ? "anonymous" : context.principal, reason};
}

std::vector<uint32_t> ToIds(const google::protobuf::RepeatedField<uint32_t>& ids) {
  return {ids.begin(), ids.end()};
}

std::string QueryOf(const v1::ListLeasesRequest& request) {
  return QueryKey({"leases", request.namespace_(), std::to_string(request.state()),
                   request.instance_id_prefix()});
}

// The machine id that a page starts at.
absl::StatusOr<uint32_t> StartOf(const v1::ListLeasesRequest& request) {
  if (request.page_token().empty()) return 0;
  const auto position = DecodePageToken(QueryOf(request), request.page_token());
  if (!position.ok()) return position.status();
  uint32_t from = 0;
  const char* end = position->data() + position->size();
  if (std::from_chars(position->data(), end, from).ptr != end) {
    return storage::PageTokenInvalidError();
  }
  return from;
}

}  // namespace

AdminHandler::AdminHandler(storage::LeaseStore* store, storage::Clock* clock,
                           AdminHandlerOptions options)
    : store_(store), clock_(clock), options_(options) {}

template <typename Request>
absl::Status AdminHandler::Check(const Request& request, const CallContext& context) const {
  if (!options_.enabled) return storage::AdminDisabledError();
  if (clock_->SteadyNow() >= context.deadline) {
    return storage::StoreTimeoutError("the deadline passed before the call began");
  }
  return Validate(request);
}

absl::StatusOr<v1::ListNamespacesResponse> AdminHandler::ListNamespaces(
    const v1::ListNamespacesRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const std::string query = QueryKey({"namespaces"});
  std::string after;
  if (!request.page_token().empty()) {
    auto position = DecodePageToken(query, request.page_token());
    if (!position.ok()) return position.status();
    after = *std::move(position);
  }
  const size_t size = static_cast<size_t>(PageSize(request.page_size()));
  // One more than asked for tells whether there is another page.
  const auto rows = store_->ListNamespaces(after, static_cast<int>(size) + 1);
  if (!rows.ok()) return rows.status();
  v1::ListNamespacesResponse response;
  for (size_t i = 0; i < rows->size() && i < size; ++i) {
    *response.add_namespaces() = ToNamespace((*rows)[i]);
  }
  if (rows->size() > size) {
    response.set_next_page_token(EncodePageToken(query, (*rows)[size - 1].name));
  }
  return response;
}

absl::StatusOr<v1::GetNamespaceResponse> AdminHandler::GetNamespace(
    const v1::GetNamespaceRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const auto detail = store_->GetNamespace(request.name());
  if (!detail.ok()) return detail.status();
  v1::GetNamespaceResponse response;
  *response.mutable_namespace_() = ToNamespace(*detail);
  return response;
}

absl::StatusOr<v1::UpdateNamespaceResponse> AdminHandler::UpdateNamespace(
    const v1::UpdateNamespaceRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const auto row =
      store_->UpdateNamespace(ToNamespaceUpdate(request), Audit(context, request.reason()));
  if (!row.ok()) return row.status();
  v1::UpdateNamespaceResponse response;
  *response.mutable_namespace_() = ToNamespace(*row);
  return response;
}

absl::StatusOr<v1::DeleteNamespaceResponse> AdminHandler::DeleteNamespace(
    const v1::DeleteNamespaceRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const absl::Status status =
      store_->DeleteNamespace(request.name(), Audit(context, request.reason()));
  if (!status.ok()) return status;
  return v1::DeleteNamespaceResponse();
}

absl::StatusOr<v1::ListLeasesResponse> AdminHandler::ListLeases(
    const v1::ListLeasesRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const auto from = StartOf(request);
  if (!from.ok()) return from.status();
  const size_t size = static_cast<size_t>(PageSize(request.page_size()));
  const auto leases = store_->ListLeases(request.namespace_(), ToLeaseFilter(request), *from,
                                         static_cast<int>(size) + 1);
  if (!leases.ok()) return leases.status();
  v1::ListLeasesResponse response;
  for (size_t i = 0; i < leases->size() && i < size; ++i) {
    *response.add_leases() = ToLeaseRecord((*leases)[i]);
  }
  if (leases->size() > size) {
    response.set_next_page_token(
        EncodePageToken(QueryOf(request), std::to_string((*leases)[size].row.machine_id)));
  }
  return response;
}

absl::StatusOr<v1::GetLeaseResponse> AdminHandler::GetLease(const v1::GetLeaseRequest& request,
                                                            const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const auto history = store_->GetLease(request.namespace_(), request.machine_id());
  if (!history.ok()) return history.status();
  v1::GetLeaseResponse response;
  *response.mutable_lease() = ToLeaseRecord(history->lease);
  for (const storage::GrantRow& grant : history->grants) *response.add_grants() = ToGrant(grant);
  return response;
}

absl::StatusOr<v1::ForceReleaseResponse> AdminHandler::ForceRelease(
    const v1::ForceReleaseRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const auto floor =
      store_->ForceRelease(ToForceReleaseSpec(request), Audit(context, request.reason()));
  if (!floor.ok()) return floor.status();
  v1::ForceReleaseResponse response;
  response.set_grantable_from_ms(floor->ms);
  return response;
}

absl::StatusOr<v1::ReserveIdsResponse> AdminHandler::ReserveIds(
    const v1::ReserveIdsRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const absl::Status status = store_->ReserveIds(request.namespace_(), ToIds(request.machine_ids()),
                                                 Audit(context, request.reason()));
  if (!status.ok()) return status;
  return v1::ReserveIdsResponse();
}

absl::StatusOr<v1::UnreserveIdsResponse> AdminHandler::UnreserveIds(
    const v1::UnreserveIdsRequest& request, const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  std::optional<storage::ClientTime> floor;
  if (request.has_floor_ms()) floor = storage::ClientTime{request.floor_ms()};
  const absl::Status status = store_->UnreserveIds(
      request.namespace_(), ToIds(request.machine_ids()), floor, Audit(context, request.reason()));
  if (!status.ok()) return status;
  return v1::UnreserveIdsResponse();
}

absl::StatusOr<v1::FindOwnerResponse> AdminHandler::FindOwner(const v1::FindOwnerRequest& request,
                                                              const CallContext& context) {
  if (const absl::Status status = Check(request, context); !status.ok()) return status;
  const auto grants = store_->FindOwner(request.namespace_(), request.machine_id(),
                                        storage::ClientTime{request.timestamp_ms()});
  if (!grants.ok()) return grants.status();
  v1::FindOwnerResponse response;
  for (const storage::GrantRow& grant : *grants) *response.add_grants() = ToGrant(grant);
  return response;
}

}  // namespace snowlease::service
