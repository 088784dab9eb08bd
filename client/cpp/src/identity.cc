#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "snowlease/client.h"

namespace snowlease::client {
namespace {

std::string RandomBytes(size_t count) {
  std::random_device device;
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(device() & 0xff));
  return bytes;
}

std::optional<std::string> UsableAddress(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    const bool link_local = (ntohl(ipv4.sin_addr.s_addr) >> 16) == 0xa9fe;
    if (link_local || !inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size())) return {};
  } else if (address.sa_family == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr)) return {};
    if (!inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size())) return {};
  } else {
    return {};
  }
  return text.data();
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// The first address of an interface that is up and not the loopback.
std::string Host() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return HostName();
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || entry->ifa_addr == nullptr) continue;
    if (auto address = UsableAddress(*entry->ifa_addr)) return *address;
  }
  return HostName();
}

}  // namespace

std::string NewIncarnationId() { return RandomBytes(16); }

std::string DefaultInstanceId() {
  return absl::StrCat(Host(), ":", getpid(), ":", absl::BytesToHexString(RandomBytes(4)));
}

}  // namespace snowlease::client
