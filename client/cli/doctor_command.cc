#include "client/cli/doctor_command.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"
#include "client/cli/output.h"
#include "client/cli/tls_probe.h"

namespace snowlease::cli {
namespace {

constexpr char kService[] = "snowlease.v1.MachineIdService";
// A holder's clock may lag by the thresholds of generators, no more.
constexpr int64_t kNotableOffsetMs = 500;
constexpr int64_t kDayMs = 86'400'000;
// Fewer days than these before a certificate ends are worth a warning.
constexpr int64_t kNotableDays = 14;

class Examination {
 public:
  explicit Examination(const GlobalOptions& global) : global_(global) {}

  void Note(const std::string& check, const std::string& result, const std::string& detail) {
    table_.Add({check, result, detail});
    json_.push_back(
        JsonObject().Text("check", check).Text("result", result).Text("detail", detail).Json());
  }

  // A failure, with what to do; the first one gives the exit code.
  void NoteError(const std::string& check, const absl::Status& status) {
    Note(check, "FAIL", DescribeError(status, global_.server));
    if (exit_code_ == kExitOk) exit_code_ = ExitCodeOf(status);
  }

  int Finish(Console& console) {
    Print(console, global_, JsonObject().Raw("checks", JsonArray(json_)).Json(), table_);
    return exit_code_;
  }

 private:
  const GlobalOptions& global_;
  Table table_{{"CHECK", "RESULT", "DETAIL"}};
  std::vector<std::string> json_;
  int exit_code_ = kExitOk;
};

void CheckCertificate(Examination& examination, const GlobalOptions& global) {
  const auto seen = ProbeTls(global);
  if (!seen.ok()) return examination.NoteError("tls", seen.status());
  const int64_t days = (seen->expires_ms - NowMs()) / kDayMs;
  const std::string text = absl::StrCat(
      "certificate of ", seen->subject, ", signed by ", seen->issuer, ", ",
      seen->expires_ms > NowMs() ? "expires " : "expired ", FormatTime(seen->expires_ms));
  if (!seen->problem.empty()) {
    return examination.NoteError(
        "tls", absl::FailedPreconditionError(absl::StrCat(seen->problem, ": ", text)));
  }
  examination.Note("tls", days < kNotableDays ? "WARN" : "OK",
                   absl::StrCat(text, " (", days, " days left)"));
}

bool CheckServer(Examination& examination, client::Client& client, const GlobalOptions& global) {
  const absl::Status health = client.CheckHealth("");
  // An answer of any kind proves the way; only a bare UNAVAILABLE may have none.
  if (!health.ok() && client::IsRetryable(health)) {
    examination.NoteError("server", health);
    return false;
  }
  examination.Note("server", "OK", "answers at " + global.server);
  const absl::Status service = client.CheckHealth(kService);
  if (service.ok()) {
    examination.Note("service", "OK", absl::StrCat(kService, " is serving"));
  } else {
    examination.NoteError("service", service);
  }
  return true;
}

void NoteVersion(Examination& examination, const std::string& version) {
  if (version.empty()) return;
  const bool same = version == SNOWLEASE_VERSION;
  examination.Note(
      "version", same ? "OK" : "WARN",
      absl::StrCat("snowlease-server ", version, same ? "" : "; this program has another version"));
}

void CheckAdmin(Examination& examination, client::Client& client) {
  v1::ListNamespacesRequest request;
  request.set_page_size(1);
  const auto response = client.ListNamespaces(request);
  NoteVersion(examination, client.server_version());
  if (response.ok()) {
    examination.Note("admin", "OK", "enabled");
  } else if (client::ReasonOf(response.status()) == client::Reason::kAdminDisabled) {
    examination.Note("admin", "OFF", "not enabled: start the server with --admin-enabled");
  } else {
    examination.NoteError("admin", response.status());
  }
}

void NoteClock(Examination& examination, const v1::Lease& lease, int64_t sent, int64_t received) {
  // The store decided somewhere between: half of the round trip is the uncertainty.
  const int64_t offset = lease.store_time_ms() - (sent + received) / 2;
  const int64_t uncertainty = (received - sent + 1) / 2;
  const std::string detail =
      absl::StrCat("the store is ", std::abs(offset), " ms ", offset < 0 ? "behind" : "ahead of",
                   " this host (+-", uncertainty, " ms)");
  const bool notable = std::abs(offset) > kNotableOffsetMs + uncertainty;
  examination.Note("clock", notable ? "WARN" : "OK", detail);
}

void CheckStore(Examination& examination, client::Client& client, const DoctorOptions& options) {
  v1::ClaimRequest claim;
  claim.set_namespace_(options.name_space);
  claim.set_instance_id(client::DefaultInstanceId());
  claim.set_incarnation_id(client::NewIncarnationId());
  claim.set_machine_bits(4);
  claim.mutable_safe_guard_duration()->set_seconds(60);
  const int64_t sent = NowMs();
  claim.set_client_time_ms(sent);
  const auto response = client.Claim(claim);
  if (!response.ok()) {
    examination.NoteError("store", response.status());
    return;
  }
  const v1::Lease& lease = response->lease();
  NoteClock(examination, lease, sent, NowMs());
  v1::ReleaseRequest release;
  release.set_namespace_(options.name_space);
  release.set_machine_id(lease.machine_id());
  release.set_instance_id(lease.instance_id());
  release.set_token(lease.token());
  release.set_abandon(true);
  const auto released = client.Release(release);
  if (!released.ok()) {
    examination.NoteError("store", released.status());
    return;
  }
  examination.Note("store", "OK",
                   absl::StrCat("claimed and released in ", options.name_space, "; store id ",
                                lease.store_id()));
}

}  // namespace

int RunDoctor(Console& console, const GlobalOptions& global, const DoctorOptions& options) {
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  Examination examination(global);
  examination.Note("program", "OK", absl::StrCat("snowlease ", SNOWLEASE_VERSION));
  if (global.tls) CheckCertificate(examination, global);
  if (CheckServer(examination, **connection, global)) {
    CheckAdmin(examination, **connection);
    if (options.no_claim) {
      examination.Note("store", "SKIPPED", "without a claim neither store nor clocks are known");
    } else {
      CheckStore(examination, **connection, options);
    }
  }
  return examination.Finish(console);
}

}  // namespace snowlease::cli
