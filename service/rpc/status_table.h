#pragma once

#include <optional>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "storage/errors.h"

// The one table from domain errors to what clients see; nothing else spells codes.

namespace snowlease::service {

grpc::StatusCode CodeOf(storage::Reason reason);

// With ErrorInfo, BadRequest and RetryInfo as far as the error has them. Texts are
// shortened so that the whole fits into gRPC's 8 KiB of trailing metadata.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// The same as gRPC carries it: code, message and the binary details.
grpc::Status ToGrpcStatus(const absl::Status& status);

// Name and value of the trailing metadata by which OVERLOADED tells gRPC's own
// retries when to come back; none for other errors.
inline constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
std::optional<std::string> PushbackOf(const absl::Status& status);

}  // namespace snowlease::service
