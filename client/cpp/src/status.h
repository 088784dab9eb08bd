#pragma once

#include <chrono>
#include <map>
#include <optional>

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace snowlease::client {

// The error that answers a renewal of a stream.
absl::Status FromRpcStatus(const google::rpc::Status& status);
// The error of a call, with what `context` received after it.
absl::Status FromGrpcStatus(const grpc::Status& status, const grpc::ClientContext& context);
// grpc-retry-pushback-ms of a finished call; negative = do not retry.
std::optional<std::chrono::milliseconds> PushbackOf(const grpc::ClientContext& context);

}  // namespace snowlease::client
