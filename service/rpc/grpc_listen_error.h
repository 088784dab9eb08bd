#pragma once

#include <string>

namespace snowlease::service {

// Why `address` ("host:port", "[::1]:port") cannot be listened on, in words; gRPC only
// tells that it cannot. Tries to bind it once more by itself.
std::string WhyNotBound(const std::string& address);

}  // namespace snowlease::service
