#pragma once

#include <memory>

#include <grpcpp/security/credentials.h>

#include "absl/status/statusor.h"
#include "snowlease/client.h"

namespace snowlease::client {

// What the options say about the connection's security. INVALID_ARGUMENT names the
// option whose file cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ClientOptions& options);

}  // namespace snowlease::client
