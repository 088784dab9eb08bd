#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/console.h"

namespace snowlease::cli {

struct ServerCertificate {
  std::string subject;
  std::string issuer;
  int64_t expires_ms = 0;
  // Why a client would refuse it; empty: it would not.
  std::string problem;
};

// Makes a TLS handshake with the server that lets every certificate pass, and tells
// what was shown and what is wrong with it: gRPC says only that a handshake failed.
// UNAVAILABLE when nothing answers, FAILED_PRECONDITION when no TLS is spoken there or
// the server refused the client's certificate, INVALID_ARGUMENT for files that cannot
// be used.
absl::StatusOr<ServerCertificate> ProbeTls(const GlobalOptions& global);

}  // namespace snowlease::cli
