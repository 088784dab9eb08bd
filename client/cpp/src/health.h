#pragma once

#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

// grpc.health.v1 by hand: Debian installs neither the proto nor its generated code,
// and the two messages have one field each.

namespace snowlease::client {

inline constexpr char kHealthMethod[] = "/grpc.health.v1.Health/Check";

grpc::ByteBuffer HealthRequest(const std::string& service);
// OK when the answer is SERVING.
absl::Status HealthAnswer(const grpc::ByteBuffer& response);

}  // namespace snowlease::client
