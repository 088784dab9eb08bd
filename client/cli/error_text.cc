#include "client/cli/error_text.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/exit_codes.h"
#include "snowlease/errors.h"

namespace snowlease::cli {
namespace {

using client::Reason;

std::string FixOfWindowOpen(const absl::Status& status) {
  const auto metadata = client::MetadataOf(status);
  const auto until = metadata.find("until");
  int64_t until_ms = 0;
  if (until == metadata.end() || !absl::SimpleAtoi(until->second, &until_ms)) {
    return "the earlier lease never ends by itself: force-release it, or claim with --comeback "
           "move";
  }
  return absl::StrCat("wait until ", FormatTime(until_ms), ", or claim with --comeback move");
}

bool Says(const absl::Status& status, const char* text) {
  return absl::StrContains(status.message(), text);
}

// gRPC says of a handshake only that it failed.
std::string FixOfHandshake(const absl::Status& status) {
  if (Says(status, "wrong version number") || Says(status, "WRONG_VERSION_NUMBER")) {
    return "the server speaks no TLS: leave out --tls";
  }
  if (Says(status, "Ssl handshake failed") || Says(status, "certificate verify failed") ||
      Says(status, "Peer name")) {
    return "snowlease doctor, with the same options, says what is wrong with the certificate";
  }
  return {};
}

std::string FixOfBareStatus(const absl::Status& status, const std::string& server) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      if (std::string fix = FixOfHandshake(status); !fix.empty()) return fix;
      if (Says(status, "Socket closed") || Says(status, "Connection reset")) {
        return absl::StrCat("if the server at ", server, " wants TLS, add --tls");
      }
      return absl::StrCat("start a server at ", server, " (scripts/run, or snowlease-server), or ",
                          "name another with --server host:port or SNOWLEASE_SERVER");
    case absl::StatusCode::kDeadlineExceeded:
      return "try again, or give it more time with --timeout";
    case absl::StatusCode::kUnimplemented:
      return absl::StrCat(server, " speaks gRPC, but not this call: is it a Snowlease server, and ",
                          "not older than this program?");
    default:
      return {};
  }
}

std::string FixOf(const absl::Status& status, const std::string& server) {
  switch (client::ReasonOf(status)) {
    case Reason::kNone:
      return FixOfBareStatus(status, server);
    case Reason::kMachineIdOverflow:
      return "release machine ids that nobody needs (snowlease leases list), or enlarge the "
             "namespace (snowlease namespaces set NAME --bits N)";
    case Reason::kCapExceeded:
      return "raise it with: snowlease namespaces set NAME --lease-cap N";
    case Reason::kMachineIdLost:
      return "make no more ids with this machine id; claim a new lease to go on";
    case Reason::kClockSkew:
    case Reason::kClockBehind:
      return "set this host's clock (timedatectl shows whether NTP runs)";
    case Reason::kWindowOpen:
      return FixOfWindowOpen(status);
    case Reason::kNamespacePolicy:
      return "snowlease namespaces get NAME shows what it prescribes";
    case Reason::kNamespaceNotEmpty:
      return "snowlease leases list --namespace NAME shows what is in use";
    case Reason::kStoreReset:
      return "wait for the end of the quarantine";
    case Reason::kStoreUnavailable:
    case Reason::kStoreTimeout:
      return "try again; the server's log and /readyz tell what its store lacks";
    case Reason::kDraining:
    case Reason::kOverloaded:
      return "try again in a moment";
    case Reason::kNotFound:
      return "snowlease namespaces list and snowlease leases list show what there is";
    case Reason::kAdminDisabled:
      return "start the server with --admin-enabled";
    default:
      return {};
  }
}

std::string Heading(const absl::Status& status) {
  const Reason reason = client::ReasonOf(status);
  std::string text = reason == Reason::kNone ? absl::StatusCodeToString(status.code())
                                             : client::ReasonName(reason);
  const auto cause = client::LossCauseOf(status);
  if (cause != client::LossCause::kNone) {
    absl::StrAppend(&text, " (", client::LossCauseName(cause), ")");
  }
  return text;
}

void Tell(Console& console, const std::string& text) {
  console.err << (console.color ? "\033[31merror:\033[0m " : "error: ") << text << "\n";
}

}  // namespace

std::string DescribeError(const absl::Status& status, const std::string& server) {
  std::string text = Heading(status);
  if (!status.message().empty()) absl::StrAppend(&text, ": ", status.message());
  for (const auto& violation : client::FieldViolationsOf(status)) {
    absl::StrAppend(&text, "\n  ", violation.field, ": ", violation.description);
  }
  const std::string fix = FixOf(status, server);
  if (!fix.empty()) absl::StrAppend(&text, "\n  fix: ", fix);
  return text;
}

int Fail(Console& console, const absl::Status& status, const std::string& server) {
  Tell(console, DescribeError(status, server));
  return ExitCodeOf(status);
}

int FailUsage(Console& console, const std::string& problem) {
  Tell(console, problem);
  return kExitUsage;
}

}  // namespace snowlease::cli
