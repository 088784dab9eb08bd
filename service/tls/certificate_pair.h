#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "storage/time_point.h"

namespace snowlease::service {

// The texts of the files, as they are on disk.
struct CertificatePem {
  std::string chain;      // the server's certificate, then those that signed it
  std::string key;        // its private key
  std::string client_ca;  // whose clients are let in; empty: clients need no certificate

  bool operator==(const CertificatePem&) const = default;
};

// Texts that have been looked through and belong together.
struct CertificatePair {
  CertificatePem pem;
  std::string subject;
  storage::HostTime expires;  // the first of the chain that does
};

// INVALID_ARGUMENT, in words, for texts that are no PEM, a key that is not the
// certificate's, and certificates that are not valid at `now`.
absl::StatusOr<CertificatePair> CheckPair(CertificatePem pem, storage::HostTime now);

// 2026-07-30T12:00:00Z
std::string UtcText(storage::HostTime time);

}  // namespace snowlease::service
