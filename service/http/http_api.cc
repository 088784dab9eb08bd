#include "service/http/http_api.h"

#include <utility>

#include "service/http/http_status.h"

namespace snowlease::service {
namespace {

using grpc::StatusCode;

constexpr char kLivez[] = "/livez";
constexpr char kReadyz[] = "/readyz";
constexpr char kMetrics[] = "/metrics";
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

bool IsPage(const std::string& path) {
  return path == kLivez || path == kReadyz || path == kMetrics;
}

HttpResponse WrongMethod(const std::string& allowed) {
  HttpResponse response = HttpFault(405, StatusCode::UNIMPLEMENTED, "use " + allowed + " here");
  response.headers["Allow"] = allowed;
  return response;
}

}  // namespace

HttpApi::HttpApi(GuardOptions guard, const Readiness* readiness, ServerMetrics* metrics,
                 const JsonGateway* gateway)
    : guard_(std::move(guard)), readiness_(readiness), metrics_(metrics), gateway_(gateway) {}

std::optional<HttpResponse> HttpApi::Refuse(const HttpRequest& head) const {
  const bool reads = head.method == "GET" || head.method == "HEAD";
  const bool page = IsPage(head.path);
  if (!page && !gateway_->Has(head.path)) {
    return HttpFault(404, StatusCode::NOT_FOUND,
                     "there is nothing here; see /livez, /readyz, /metrics, and POST "
                     "/v1/machine-ids:claim and so on");
  }
  if (page && !reads) return WrongMethod("GET, HEAD");
  if (!page && head.method != "POST") return WrongMethod("POST");
  return RefusalOf(head, guard_);
}

HttpResponse HttpApi::Handle(const HttpRequest& request) const {
  HttpResponse response;
  if (request.path == kLivez) {
    response.body = "{\"alive\":true}";
  } else if (request.path == kReadyz) {
    const ReadinessReport report = readiness_->Report();
    response.status = report.ready ? 200 : 503;
    response.body = report.ToJson();
  } else if (request.path == kMetrics) {
    response.content_type = kMetricsType;
    response.body = metrics_->Serialize();
  } else {
    response = gateway_->Call(request.path, request.body);
  }
  return response;
}

}  // namespace snowlease::service
