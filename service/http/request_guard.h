#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "service/http/http_message.h"

namespace snowlease::service {

struct GuardOptions {
  bool loopback = true;                    // the port is bound to a loopback address
  std::vector<std::string> allowed_hosts;  // host names besides localhost
  size_t max_body_bytes = 64 * 1024;
};

// Refuses what a browser could be tricked into sending and what is not worth reading,
// from the head of a request alone: a foreign Origin, a Host that is a name nobody
// allowed (DNS rebinding; addresses are always good), bodies that are not JSON, too
// large, compressed or without length. None: go on.
std::optional<HttpResponse> RefusalOf(const HttpRequest& head, const GuardOptions& options);

// The host in a Host header, without its port and in lower case.
std::string HostName(const std::string& host_header);

}  // namespace snowlease::service
