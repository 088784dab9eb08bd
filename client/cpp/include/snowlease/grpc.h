#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/status/statusor.h"
#include "google/rpc/status.pb.h"
#include "snowlease/client.h"

// For programs that drive the generated stubs themselves, e.g. asynchronously.

namespace snowlease::client {

// A connection of its own with the keepalive and reconnect settings of a Client;
// connects at the first call. INVALID_ARGUMENT unless `endpoint` is host:port or
// [IPv6]:port and the files of the TLS options can be read.
absl::StatusOr<std::shared_ptr<grpc::Channel>> NewChannel(const std::string& endpoint,
                                                          const ClientOptions& options);

// That far from now on gRPC's monotonic clock, so that a step of the wall clock
// neither ends nor prolongs a call.
gpr_timespec DeadlineIn(std::chrono::milliseconds duration);

// The error of a finished call, with what `context` received after it; errors.h
// reads it.
absl::Status FromGrpcStatus(const grpc::Status& status, const grpc::ClientContext& context);
// The error that answers one renewal of a stream.
absl::Status FromRpcStatus(const google::rpc::Status& status);
// grpc-retry-pushback-ms of a finished call; negative = do not retry.
std::optional<std::chrono::milliseconds> PushbackOf(const grpc::ClientContext& context);

}  // namespace snowlease::client
