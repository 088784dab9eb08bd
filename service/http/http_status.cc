#include "service/http/http_status.h"

#include <google/protobuf/util/json_util.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "service/rpc/status_table.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

constexpr int kClientClosedRequest = 499;

HttpResponse StatusResponse(int http_status, const google::rpc::Status& status) {
  HttpResponse response;
  response.status = http_status;
  if (!google::protobuf::util::MessageToJsonString(status, &response.body).ok()) {
    // Only a detail that is not linked into the program gets here.
    google::rpc::Status bare;
    bare.set_code(status.code());
    bare.set_message(status.message());
    response.body.clear();
    (void)google::protobuf::util::MessageToJsonString(bare, &response.body);
  }
  return response;
}

}  // namespace

int HttpStatusOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return 200;
    case grpc::StatusCode::CANCELLED:
      return kClientClosedRequest;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
      return 400;
    case grpc::StatusCode::UNAUTHENTICATED:
      return 401;
    case grpc::StatusCode::PERMISSION_DENIED:
      return 403;
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::ABORTED:
      return 409;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return 429;
    case grpc::StatusCode::UNIMPLEMENTED:
      return 501;
    case grpc::StatusCode::UNAVAILABLE:
      return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 500;
  }
}

HttpResponse ErrorResponse(const absl::Status& status) {
  const google::rpc::Status rpc = ToRpcStatus(status);
  HttpResponse response =
      StatusResponse(HttpStatusOf(static_cast<grpc::StatusCode>(rpc.code())), rpc);
  if (const std::optional<storage::Millis> after = storage::RetryAfterOf(status)) {
    // Whole seconds are all that the header can say.
    const int64_t seconds = std::max<int64_t>(1, (after->count() + 999) / 1000);
    response.headers["Retry-After"] = std::to_string(seconds);
  }
  return response;
}

HttpResponse HttpFault(int http_status, grpc::StatusCode code, const std::string& message) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  return StatusResponse(http_status, status);
}

}  // namespace snowlease::service
