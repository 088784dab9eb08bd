#pragma once

#include <optional>
#include <string>

#include "service/health/readiness.h"
#include "service/http/http_message.h"
#include "service/http/json_gateway.h"
#include "service/http/request_guard.h"
#include "service/metrics/server_metrics.h"

namespace snowlease::service {

// What the HTTP port answers, without a transport. Thread-safe; what it points to must
// outlive it.
class HttpApi {
 public:
  HttpApi(GuardOptions guard, const Readiness* readiness, ServerMetrics* metrics,
          const JsonGateway* gateway);

  // From the head alone: why the request is refused; none: read the body and Handle.
  std::optional<HttpResponse> Refuse(const HttpRequest& head) const;
  // Blocks for calls of the API. Only for requests that are not refused.
  HttpResponse Handle(const HttpRequest& request) const;

 private:
  const GuardOptions guard_;
  const Readiness* const readiness_;
  ServerMetrics* const metrics_;
  const JsonGateway* const gateway_;
};

}  // namespace snowlease::service
