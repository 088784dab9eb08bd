#include "service/http/connection_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace snowlease::service {
namespace {

using storage::Millis;
using storage::SteadyTime;

// How often a slow connection looks whether others need its thread; a request that
// came in less than this ago is not slow.
constexpr Millis kSlice{250};
constexpr size_t kChunk = 4096;
// Of a body that was refused: a client that is still sending it would otherwise find the
// connection reset before it has read why.
constexpr size_t kMostDiscarded = 8 << 20;

void ToIpAndPort(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    port = ntohs(v6.sin6_port);
  }
  ip = text;
}

}  // namespace

ConnectionStream::ConnectionStream(int socket, storage::Clock* clock, Limits limits)
    : socket_(socket), clock_(clock), limits_(std::move(limits)), started_(clock->SteadyNow()) {}

bool ConnectionStream::Await(int16_t event, SteadyTime until) const {
  for (;;) {
    const SteadyTime now = clock_->SteadyNow();
    if (now >= until) return false;
    const bool slow = event == POLLIN && now - started_ >= kSlice;
    if (slow && limits_.give_way && limits_.give_way()) return false;
    const auto left = std::chrono::ceil<Millis>(until - now);
    pollfd waiter{socket_, event, 0};
    const int ready = ::poll(&waiter, 1, static_cast<int>(std::min(left, kSlice).count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool ConnectionStream::is_readable() const {
  return taken_ < buffer_.size() || Await(POLLIN, started_ + limits_.receive);
}

bool ConnectionStream::is_writable() const {
  const SteadyTime until =
      send_until_ == SteadyTime{} ? clock_->SteadyNow() + limits_.send : send_until_;
  return Await(POLLOUT, until);
}

bool ConnectionStream::Fill() {
  if (received_ >= limits_.max_bytes || !Await(POLLIN, started_ + limits_.receive)) return false;
  char chunk[kChunk];
  const ssize_t size = ::recv(socket_, chunk, std::min(kChunk, limits_.max_bytes - received_), 0);
  if (size <= 0) return false;
  received_ += static_cast<size_t>(size);
  buffer_.assign(chunk, static_cast<size_t>(size));
  taken_ = 0;
  return true;
}

ssize_t ConnectionStream::read(char* data, size_t size) {
  if (taken_ == buffer_.size() && !Fill()) return -1;
  const size_t taken = std::min(size, buffer_.size() - taken_);
  std::copy_n(buffer_.data() + taken_, taken, data);
  taken_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t ConnectionStream::write(const char* data, size_t size) {
  if (send_until_ == SteadyTime{}) send_until_ = clock_->SteadyNow() + limits_.send;
  if (!Await(POLLOUT, send_until_)) return -1;
  return ::send(socket_, data, size, MSG_NOSIGNAL);
}

void ConnectionStream::Finish() {
  ::shutdown(socket_, SHUT_WR);
  const SteadyTime until = clock_->SteadyNow() + kSlice;
  char chunk[kChunk];
  size_t left = kMostDiscarded;
  while (left > 0 && Await(POLLIN, until)) {
    const ssize_t size = ::recv(socket_, chunk, std::min(kChunk, left), 0);
    if (size <= 0) return;
    left -= static_cast<size_t>(size);
  }
}

void ConnectionStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    ToIpAndPort(address, ip, port);
  }
}

void ConnectionStream::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    ToIpAndPort(address, ip, port);
  }
}

}  // namespace snowlease::service
