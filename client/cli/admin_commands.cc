#include "client/cli/admin_commands.h"

#include "absl/strings/str_cat.h"
#include "client/cli/admin_tables.h"
#include "client/cli/arguments.h"
#include "client/cli/confirm.h"
#include "client/cli/connection.h"
#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"

namespace snowlease::cli {
namespace {

constexpr uint64_t kLargestPage = 1000;
constexpr uint64_t kMostLeases = uint64_t{1} << 30;

// Connects, does `work(client)` and tells its error; `work` prints what it got.
template <typename Work>
int WithClient(Console& console, const GlobalOptions& global, Work work) {
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  const absl::Status status = work(**connection);
  return status.ok() ? kExitOk : Fail(console, status, global.server);
}

// Collects pages until there are no more or `limit` elements (0: all).
template <typename Response, typename Request, typename Call, typename Elements>
absl::StatusOr<Response> AllPages(Request request, uint64_t limit, Call call, Elements elements) {
  Response all;
  do {
    const uint64_t have = static_cast<uint64_t>(elements(all)->size());
    const uint64_t wanted = limit == 0 ? kLargestPage : std::min(limit - have, kLargestPage);
    request.set_page_size(static_cast<int32_t>(wanted));
    auto page = call(request);
    if (!page.ok()) return page.status();
    elements(all)->MergeFrom(*elements(*page));
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() &&
           (limit == 0 || static_cast<uint64_t>(elements(all)->size()) < limit));
  return all;
}

v1::LeaseState StateNamed(const std::string& name) {
  if (name == "free") return v1::LEASE_STATE_FREE;
  if (name == "held") return v1::LEASE_STATE_HELD;
  if (name == "kept") return v1::LEASE_STATE_KEPT;
  if (name == "reserved") return v1::LEASE_STATE_RESERVED;
  return v1::LEASE_STATE_UNSPECIFIED;
}

absl::Status SetLeaseCap(const std::string& text, v1::UpdateNamespaceRequest& request) {
  if (text.empty()) return absl::OkStatus();
  if (text == "none") {
    request.set_clear_lease_cap(true);
    return absl::OkStatus();
  }
  const auto cap = ParseNumber(text, 1, kMostLeases);
  if (!cap.ok())
    return absl::InvalidArgumentError("--lease-cap: " + std::string(cap.status().message()));
  request.set_lease_cap(*cap);
  return absl::OkStatus();
}

absl::Status SetPinnedSafeGuard(const std::string& text, v1::UpdateNamespaceRequest& request) {
  if (text.empty()) return absl::OkStatus();
  if (text == "none") {
    request.set_clear_pinned_safe_guard_duration(true);
    return absl::OkStatus();
  }
  const auto duration = ParseDuration(text);
  if (!duration.ok()) {
    return absl::InvalidArgumentError("--pin-safe-guard: " +
                                      std::string(duration.status().message()));
  }
  *request.mutable_pinned_safe_guard_duration() = ToDuration(*duration);
  return absl::OkStatus();
}

// Nothing to show in a table: says what was done, or prints the empty answer.
void TellDone(Console& console, const GlobalOptions& global,
              const google::protobuf::Message& response, const std::string& what) {
  if (global.output == OutputFormat::kTable) {
    console.err << what << "\n";
  } else {
    Print(console, global, response, Table({}));
  }
}

}  // namespace

int RunListNamespaces(Console& console, const GlobalOptions& global, uint64_t limit) {
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    const auto response = AllPages<v1::ListNamespacesResponse>(
        v1::ListNamespacesRequest(), limit,
        [&](const auto& request) { return client.ListNamespaces(request); },
        [](v1::ListNamespacesResponse& page) { return page.mutable_namespaces(); });
    if (!response.ok()) return response.status();
    Table table = NamespaceTable();
    for (const auto& name_space : response->namespaces()) AddNamespace(table, name_space);
    Print(console, global, *response, table);
    return absl::OkStatus();
  });
}

int RunGetNamespace(Console& console, const GlobalOptions& global, const std::string& name) {
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    v1::GetNamespaceRequest request;
    request.set_name(name);
    const auto response = client.GetNamespace(request);
    if (!response.ok()) return response.status();
    Table table = NamespaceTable();
    AddNamespace(table, response->namespace_());
    Print(console, global, *response, table);
    return absl::OkStatus();
  });
}

int RunSetNamespace(Console& console, const GlobalOptions& global,
                    const SetNamespaceOptions& options) {
  v1::UpdateNamespaceRequest request;
  request.set_name(options.name);
  request.set_reason(options.reason);
  request.set_allow_missing(options.create);
  if (options.bits) request.set_machine_bits(*options.bits);
  if (options.allow_trust_clock) request.set_allow_trust_clock(*options.allow_trust_clock);
  absl::Status problem = SetLeaseCap(options.lease_cap, request);
  if (problem.ok()) problem = SetPinnedSafeGuard(options.pin_safe_guard, request);
  if (problem.ok() && options.create && !options.bits) {
    problem = absl::InvalidArgumentError("--create needs the size of the namespace: --bits");
  }
  if (!problem.ok()) return FailUsage(console, std::string(problem.message()));
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    const auto response = client.UpdateNamespace(request);
    if (!response.ok()) return response.status();
    Table table = NamespaceTable();
    AddNamespace(table, response->namespace_());
    Print(console, global, *response, table);
    return absl::OkStatus();
  });
}

int RunDeleteNamespace(Console& console, const GlobalOptions& global,
                       const DeleteNamespaceOptions& options) {
  const int confirmed =
      Confirm(console, options.yes, absl::StrCat("delete the namespace '", options.name, "'"));
  if (confirmed != kExitOk) return confirmed;
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    v1::DeleteNamespaceRequest request;
    request.set_name(options.name);
    request.set_reason(options.reason);
    const auto response = client.DeleteNamespace(request);
    if (!response.ok()) return response.status();
    TellDone(console, global, *response, "deleted " + options.name);
    return absl::OkStatus();
  });
}

int RunListLeases(Console& console, const GlobalOptions& global, const ListLeasesOptions& options) {
  v1::ListLeasesRequest request;
  request.set_namespace_(options.name_space);
  request.set_state(StateNamed(options.state));
  request.set_instance_id_prefix(options.instance_prefix);
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    const auto response = AllPages<v1::ListLeasesResponse>(
        request, options.limit, [&](const auto& page) { return client.ListLeases(page); },
        [](v1::ListLeasesResponse& page) { return page.mutable_leases(); });
    if (!response.ok()) return response.status();
    Table table = LeaseTable();
    for (const auto& lease : response->leases()) AddLease(table, lease);
    Print(console, global, *response, table);
    return absl::OkStatus();
  });
}

int RunGetLease(Console& console, const GlobalOptions& global, const std::string& name_space,
                uint32_t machine_id) {
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    v1::GetLeaseRequest request;
    request.set_namespace_(name_space);
    request.set_machine_id(machine_id);
    const auto response = client.GetLease(request);
    if (!response.ok()) return response.status();
    Table lease = LeaseTable();
    AddLease(lease, response->lease());
    Print(console, global, *response, lease);
    if (global.output == OutputFormat::kTable && response->grants_size() > 0) {
      Table grants = GrantTable();
      for (const auto& grant : response->grants()) AddGrant(grants, grant);
      console.out << "\n" << grants.Text(!global.no_headers);
    }
    return absl::OkStatus();
  });
}

int RunForceRelease(Console& console, const GlobalOptions& global,
                    const ForceReleaseOptions& options) {
  const int confirmed =
      Confirm(console, options.yes,
              absl::StrCat("end the grant ", options.token, " of machine id ", options.machine_id,
                           " in '", options.name_space, "' while its holder may be running"));
  if (confirmed != kExitOk) return confirmed;
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    v1::ForceReleaseRequest request;
    request.set_namespace_(options.name_space);
    request.set_machine_id(options.machine_id);
    request.set_expected_token(options.token);
    request.set_reason(options.reason);
    if (options.quarantine_ms) *request.mutable_quarantine() = ToDuration(*options.quarantine_ms);
    const auto response = client.ForceRelease(request);
    if (!response.ok()) return response.status();
    Table table({"MACHINE_ID", "GRANTABLE_FROM"});
    table.Add({absl::StrCat(options.machine_id), FormatTime(response->grantable_from_ms())});
    Print(console, global, *response, table);
    return absl::OkStatus();
  });
}

int RunReserve(Console& console, const GlobalOptions& global, const ReserveOptions& options) {
  const auto ids = ParseMachineIds(options.machine_ids);
  if (!ids.ok()) return FailUsage(console, std::string(ids.status().message()));
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    v1::ReserveIdsRequest request;
    request.set_namespace_(options.name_space);
    request.mutable_machine_ids()->Add(ids->begin(), ids->end());
    request.set_reason(options.reason);
    const auto response = client.ReserveIds(request);
    if (!response.ok()) return response.status();
    TellDone(console, global, *response, absl::StrCat("reserved ", ids->size(), " machine ids"));
    return absl::OkStatus();
  });
}

int RunUnreserve(Console& console, const GlobalOptions& global, const ReserveOptions& options) {
  const auto ids = ParseMachineIds(options.machine_ids);
  if (!ids.ok()) return FailUsage(console, std::string(ids.status().message()));
  v1::UnreserveIdsRequest request;
  request.set_namespace_(options.name_space);
  request.mutable_machine_ids()->Add(ids->begin(), ids->end());
  request.set_reason(options.reason);
  if (!options.floor.empty()) {
    const auto floor = ParseTimestamp(options.floor, NowMs());
    if (!floor.ok()) {
      return FailUsage(console, absl::StrCat("--floor: ", floor.status().message()));
    }
    request.set_floor_ms(*floor);
  }
  return WithClient(console, global, [&](client::Client& client) -> absl::Status {
    const auto response = client.UnreserveIds(request);
    if (!response.ok()) return response.status();
    TellDone(console, global, *response,
             absl::StrCat("put ", ids->size(), " machine ids back into service"));
    return absl::OkStatus();
  });
}

}  // namespace snowlease::cli
