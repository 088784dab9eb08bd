#include "client/cli/lease_commands.h"

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"
#include "client/cli/output.h"

namespace snowlease::cli {
namespace {

// Talk is for people: with data for programs on stdout nobody reads it.
bool Talks(const GlobalOptions& global) { return global.output == OutputFormat::kTable; }

std::string NameOf(v1::LeaseSource source) {
  return WithoutPrefix(v1::LeaseSource_Name(source), "LEASE_SOURCE_");
}

Table TableOf(const v1::Lease& lease) {
  Table table(
      {"NAMESPACE", "MACHINE_ID", "TOKEN", "INSTANCE", "SOURCE", "FLOOR", "WINDOW_END", "EXPIRES"});
  table.Add({lease.namespace_(), absl::StrCat(lease.machine_id()), absl::StrCat(lease.token()),
             lease.instance_id(), NameOf(lease.source()), FormatMark(lease.floor_ms()),
             lease.has_window_end_ms() ? FormatTime(lease.window_end_ms()) : "never",
             lease.has_expires_at_ms() ? FormatTime(lease.expires_at_ms()) : "never"});
  return table;
}

void TellWarnings(Console& console, const v1::Lease& lease) {
  for (const int warning : lease.warnings()) {
    const std::string name = WithoutPrefix(
        v1::LeaseWarning_Name(static_cast<v1::LeaseWarning>(warning)), "LEASE_WARNING_");
    console.err << "warning: " << (name.empty() ? absl::StrCat("number ", warning) : name) << "\n";
  }
  if (lease.superseded_live_lease()) {
    console.err << "warning: an earlier lease of this instance id was still alive; two processes "
                   "may share the id\n";
  }
}

// How this server is reached, as the next command is to be told.
std::string ServerArguments(const GlobalOptions& global) {
  std::string arguments =
      global.server == GlobalOptions().server ? "" : " --server " + ShellQuote(global.server);
  if (global.tls) arguments += " --tls";
  for (const auto& [name, value] : {std::pair(" --ca-file ", &global.ca_file),
                                    std::pair(" --server-name ", &global.server_name),
                                    std::pair(" --cert-file ", &global.cert_file),
                                    std::pair(" --key-file ", &global.key_file)}) {
    if (!value->empty()) arguments += name + ShellQuote(*value);
  }
  return arguments;
}

std::string GrantArguments(const GlobalOptions& global, const v1::Lease& lease) {
  const std::string server = ServerArguments(global);
  return absl::StrCat(server, " --namespace ", ShellQuote(lease.namespace_()), " --machine-id ",
                      lease.machine_id(), " --instance ", ShellQuote(lease.instance_id()),
                      " --token ", lease.token());
}

void TellWhatNext(Console& console, const GlobalOptions& global, const v1::Lease& lease) {
  const std::string grant = GrantArguments(global, lease);
  const std::string within =
      lease.has_expires_at_ms()
          ? absl::StrCat(" within ", FormatDuration(lease.safe_guard_duration()))
          : std::string();
  console.err << "renew it" << within << ":\n  snowlease renew" << grant
              << " --last-timestamp now\nrelease it:\n  snowlease release" << grant
              << " --last-timestamp now\n";
}

v1::ComebackMode ModeOf(const std::string& name) {
  if (name == "move") return v1::COMEBACK_MODE_MOVE;
  if (name == "keep") return v1::COMEBACK_MODE_KEEP;
  if (name == "trust-clock") return v1::COMEBACK_MODE_TRUST_CLOCK;
  return v1::COMEBACK_MODE_UNSPECIFIED;
}

v1::ClaimRequest RequestOf(const ClaimOptions& options) {
  v1::ClaimRequest request;
  request.set_namespace_(options.name_space);
  request.set_instance_id(options.instance.empty() ? client::DefaultInstanceId()
                                                   : options.instance);
  request.set_incarnation_id(client::NewIncarnationId());
  request.set_machine_bits(options.bits);
  request.set_stable(options.stable);
  if (options.safe_guard_ms) {
    *request.mutable_safe_guard_duration() = ToDuration(*options.safe_guard_ms);
  }
  if (options.window_ms) *request.mutable_window() = ToDuration(*options.window_ms);
  *request.mutable_max_wait() = ToDuration(options.max_wait_ms);
  request.set_comeback_mode(ModeOf(options.comeback));
  request.set_client_time_ms(NowMs());
  return request;
}

template <typename Request>
void SetGrant(const GrantOptions& grant, Request& request) {
  request.set_namespace_(grant.name_space);
  request.set_machine_id(grant.machine_id);
  request.set_instance_id(grant.instance);
  request.set_token(grant.token);
}

}  // namespace

int RunClaim(Console& console, const GlobalOptions& global, const ClaimOptions& options) {
  if (options.stable && options.instance.empty()) {
    return FailUsage(console,
                     "a stable lease is for an instance that comes back: name it with "
                     "--instance");
  }
  const auto metadata = ParsePairs(options.metadata);
  if (!metadata.ok()) {
    return FailUsage(console, absl::StrCat("--metadata: ", metadata.status().message()));
  }
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  v1::ClaimRequest request = RequestOf(options);
  request.mutable_metadata()->insert(metadata->begin(), metadata->end());
  const auto response = (*connection)->Claim(request);
  if (!response.ok()) return Fail(console, response.status(), global.server);
  Print(console, global, *response, TableOf(response->lease()));
  if (Talks(global)) {
    TellWarnings(console, response->lease());
    TellWhatNext(console, global, response->lease());
  }
  return kExitOk;
}

int RunRenew(Console& console, const GlobalOptions& global, const RenewOptions& options) {
  v1::RenewRequest request;
  SetGrant(options.grant, request);
  const int64_t now = NowMs();
  if (!options.last_timestamp.empty()) {
    const auto last = ParseTimestamp(options.last_timestamp, now);
    if (!last.ok()) {
      return FailUsage(console, absl::StrCat("--last-timestamp: ", last.status().message()));
    }
    request.set_last_timestamp_ms(*last);
  }
  request.set_client_time_ms(now);
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  const auto response = (*connection)->Renew(request);
  if (!response.ok()) return Fail(console, response.status(), global.server);
  Print(console, global, *response, TableOf(response->lease()));
  if (Talks(global)) TellWarnings(console, response->lease());
  return kExitOk;
}

int RunRelease(Console& console, const GlobalOptions& global, const ReleaseOptions& options) {
  v1::ReleaseRequest request;
  SetGrant(options.grant, request);
  request.set_abandon(options.abandon);
  if (!options.last_timestamp.empty()) {
    const auto last = ParseTimestamp(options.last_timestamp, NowMs());
    if (!last.ok()) {
      return FailUsage(console, absl::StrCat("--last-timestamp: ", last.status().message()));
    }
    request.set_last_timestamp_ms(*last);
  }
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  const auto response = (*connection)->Release(request);
  if (!response.ok()) return Fail(console, response.status(), global.server);
  if (!Talks(global)) {
    Print(console, global, *response, Table({}));
    return kExitOk;
  }
  console.err << "released machine id " << options.grant.machine_id << " of "
              << options.grant.name_space << "\n";
  if (options.last_timestamp.empty() && !options.abandon) {
    console.err << "without --last-timestamp its next holder starts above the whole window\n";
  }
  return kExitOk;
}

int RunWatermark(Console& console, const GlobalOptions& global, const WatermarkOptions& options) {
  v1::WatermarkRequest request;
  request.set_namespace_(options.grant.name_space);
  request.set_machine_id(options.grant.machine_id);
  if (!options.raise_to.empty()) {
    if (options.grant.instance.empty() || options.grant.token == 0) {
      return FailUsage(console, "--raise-to needs the grant: --instance and --token");
    }
    const auto raise_to = ParseTimestamp(options.raise_to, NowMs());
    if (!raise_to.ok()) {
      return FailUsage(console, absl::StrCat("--raise-to: ", raise_to.status().message()));
    }
    request.mutable_raise()->set_instance_id(options.grant.instance);
    request.mutable_raise()->set_token(options.grant.token);
    request.mutable_raise()->set_raise_to_ms(*raise_to);
  }
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  const auto response = (*connection)->Watermark(request);
  if (!response.ok()) return Fail(console, response.status(), global.server);
  Table table({"NAMESPACE", "MACHINE_ID", "WATERMARK", "WATERMARK_MS"});
  table.Add({options.grant.name_space, absl::StrCat(options.grant.machine_id),
             FormatMark(response->watermark_ms()), absl::StrCat(response->watermark_ms())});
  Print(console, global, *response, table);
  return kExitOk;
}

}  // namespace snowlease::cli
