#pragma once

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status_code_enum.h"
#include "service/http/http_message.h"

namespace snowlease::service {

// The HTTP status that stands for a gRPC code everywhere.
int HttpStatusOf(grpc::StatusCode code);

// A domain error as google.rpc.Status in JSON, with Retry-After where it is known.
HttpResponse ErrorResponse(const absl::Status& status);

// The same for a fault of the HTTP request itself.
HttpResponse HttpFault(int http_status, grpc::StatusCode code, const std::string& message);

}  // namespace snowlease::service
