#pragma once

#include "absl/status/status.h"
#include "service/config/config.h"
#include "service/config/values.h"
#include "storage/clock.h"

namespace snowlease::service {

// Asks grpc.health.v1 of a server on this host whether it serves. Errors: UNAVAILABLE
// or whatever else is in the way, in words.
// With TLS it shows the server's own certificate, and trusts whatever answers.
absl::Status ProbeHealth(const ListenAddress& address, storage::Millis timeout,
                         const Config::Grpc::Tls& tls = {});

}  // namespace snowlease::service
