#include "service/rpc/grpc_listen_error.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace snowlease::service {
namespace {

std::string TryBind(const addrinfo& address) {
  const int fd = socket(address.ai_family, address.ai_socktype, address.ai_protocol);
  if (fd < 0) return std::strerror(errno);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  std::string problem;
  if (bind(fd, address.ai_addr, address.ai_addrlen) != 0 || listen(fd, 1) != 0) {
    problem = errno == EADDRINUSE
                  ? "the port is in use: stop what listens there or choose another port"
                  : std::strerror(errno);
  }
  close(fd);
  return problem;
}

}  // namespace

std::string WhyNotBound(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return "it has no port: write host:port";
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return gai_strerror(error);
  std::string problem = TryBind(*found);
  freeaddrinfo(found);
  return problem.empty() ? "gRPC refused it" : problem;
}

}  // namespace snowlease::service
