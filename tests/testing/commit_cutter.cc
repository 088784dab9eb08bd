#include "tests/testing/commit_cutter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace snowlease::testing {
namespace {

constexpr int kTickMs = 20;
// A packet of 7 bytes, the first of its exchange: COM_QUERY and the statement.
constexpr std::string_view kCommit(
    "\x07\0\0\0\x03"
    "COMMIT",
    11);

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool IsReadable(int file) {
  pollfd wanted{file, POLLIN, 0};
  return poll(&wanted, 1, kTickMs) == 1;
}

}  // namespace

CommitCutter::CommitCutter(uint16_t server_port) : server_port_(server_port) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, any, length) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, any, &length) != 0) {
    throw std::runtime_error("no port for the proxy");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

CommitCutter::~CommitCutter() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& forwarder : forwarders_) forwarder.join();
  close(listener_);
}

void CommitCutter::Accept() {
  while (!stop_) {
    if (!IsReadable(listener_)) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    const std::lock_guard lock(mutex_);
    forwarders_.emplace_back([this, client] { Forward(client); });
  }
}

void CommitCutter::Forward(int client) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(server_port_);
  bool open = connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  while (open && !stop_) {
    pollfd both[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    if (poll(both, 2, kTickMs) <= 0) continue;
    if (both[0].revents != 0) open = ForwardToServer(client, server);
    if (open && both[1].revents != 0) open = ForwardToClient(server, client);
  }
  close(server);
  close(client);
}

bool CommitCutter::ForwardToServer(int client, int server) {
  std::array<char, 65536> bytes;
  const ssize_t size = recv(client, bytes.data(), bytes.size(), 0);
  if (size <= 0) return false;
  const std::string_view text(bytes.data(), static_cast<size_t>(size));
  if (send(server, text.data(), text.size(), MSG_NOSIGNAL) != size) return false;
  if (text != kCommit || !armed_.exchange(false)) return true;
  // The server's answer says that it has committed; it ends here.
  (void)!recv(server, bytes.data(), bytes.size(), 0);
  ++cuts_;
  return false;
}

bool CommitCutter::ForwardToClient(int server, int client) const {
  std::array<char, 65536> bytes;
  const ssize_t size = recv(server, bytes.data(), bytes.size(), 0);
  return size > 0 && send(client, bytes.data(), static_cast<size_t>(size), MSG_NOSIGNAL) == size;
}

}  // namespace snowlease::testing
