#include "tests/testing/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace snowlease::testing {
namespace {

constexpr int kLookMs = 20;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool SendAll(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

// What has arrived; empty: the other side has closed.
std::string Receive(int fd) {
  std::string bytes(65536, '\0');
  const ssize_t n = recv(fd, bytes.data(), bytes.size(), 0);
  bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return bytes;
}

}  // namespace

TcpProxy::TcpProxy(int target_port) : target_port_(target_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no port for the proxy");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TcpProxy::~TcpProxy() {
  ended_ = true;
  acceptor_.join();
  for (std::thread& server : servers_) server.join();
  close(listener_);
}

void TcpProxy::CutAnswerTo(const std::string& text) {
  const std::lock_guard lock(mutex_);
  cut_text_ = text;
}

bool TcpProxy::Takes(const std::string& request) {
  const std::lock_guard lock(mutex_);
  if (cut_text_.empty() || request.find(cut_text_) == std::string::npos) return false;
  cut_text_.clear();
  return true;
}

void TcpProxy::Accept() {
  while (!ended_) {
    pollfd waiting = {listener_, POLLIN, 0};
    if (poll(&waiting, 1, kLookMs) <= 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) servers_.emplace_back([this, client] { Serve(client); });
  }
}

void TcpProxy::Serve(int client) {
  const int target = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(target_port_);
  bool open = connect(target, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  bool cut = false;
  while (open && !ended_) {
    pollfd waiting[] = {{client, POLLIN, 0}, {target, POLLIN, 0}};
    if (poll(waiting, 2, kLookMs) <= 0) continue;
    if (silent_) {
      poll(nullptr, 0, kLookMs);
      continue;
    }
    if (waiting[0].revents != 0) {
      const std::string request = Receive(client);
      cut = cut || Takes(request);
      open = !request.empty() && SendAll(target, request);
    }
    if (open && waiting[1].revents != 0) {
      const std::string answer = Receive(target);
      if (cut) ++cuts_;
      open = !cut && !answer.empty() && SendAll(client, answer);
    }
  }
  close(client);
  close(target);
}

}  // namespace snowlease::testing
