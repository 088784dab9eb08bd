#include "client/cli/tls_probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"

namespace snowlease::cli {
namespace {

constexpr int kMostSeconds = 10;

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::string HostOf(const std::string& server) {
  const std::string host = server.substr(0, server.rfind(':'));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

// A connected socket, or -1 and errno.
int TryConnect(const addrinfo& address, int seconds) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // The kernel takes the time to send as that to connect, too.
  const timeval patience{seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

absl::StatusOr<int> ConnectTo(const GlobalOptions& global) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const std::string port = global.server.substr(global.server.rfind(':') + 1);
  const int error = getaddrinfo(HostOf(global.server).c_str(), port.c_str(), &hints, &raw);
  const Owned<addrinfo> found(raw);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  const int seconds =
      static_cast<int>(std::clamp<int64_t>(global.timeout_ms / 1000, 1, kMostSeconds));
  for (const addrinfo* address = found.get(); address != nullptr; address = address->ai_next) {
    const int fd = TryConnect(*address, seconds);
    if (fd >= 0) return fd;
  }
  return absl::UnavailableError(std::strerror(errno));
}

absl::Status LoadFiles(SSL_CTX* context, const GlobalOptions& global) {
  const auto refuse = [](const std::string& path) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(path, " cannot be used: it is no PEM file"));
  };
  if (global.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_file(context, global.ca_file.c_str()) != 1) {
    return refuse(global.ca_file);
  }
  if (global.cert_file.empty()) return absl::OkStatus();
  if (SSL_CTX_use_certificate_chain_file(context, global.cert_file.c_str()) != 1) {
    return refuse(global.cert_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, global.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return refuse(global.key_file);
  }
  return absl::OkStatus();
}

std::string NameText(const X509_NAME* name) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(length)};
}

int64_t MsOf(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? int64_t{timegm(&parts)} * 1000 : 0;
}

ServerCertificate Describe(SSL* ssl, X509* certificate, const std::string& host) {
  ServerCertificate seen;
  seen.subject = NameText(X509_get_subject_name(certificate));
  seen.issuer = NameText(X509_get_issuer_name(certificate));
  seen.expires_ms = MsOf(X509_get0_notAfter(certificate));
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) {
    seen.problem = X509_verify_cert_error_string(verified);
  } else if (X509_check_host(certificate, host.data(), host.size(), 0, nullptr) != 1 &&
             X509_check_ip_asc(certificate, host.c_str(), 0) != 1) {
    seen.problem = absl::StrCat("it is not for the name ", host);
  }
  return seen;
}

std::string LastError() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "the connection was closed" : reason;
}

}  // namespace

absl::StatusOr<ServerCertificate> ProbeTls(const GlobalOptions& global) {
  // OpenSSL writes to a connection that the server may have closed.
  std::signal(SIGPIPE, SIG_IGN);
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (absl::Status loaded = LoadFiles(context.get(), global); !loaded.ok()) return loaded;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const absl::StatusOr<int> connected = ConnectTo(global);
  if (!connected.ok()) return connected.status();
  const Socket socket(*connected);
  const std::string host = global.server_name.empty() ? HostOf(global.server) : global.server_name;
  const Owned<SSL> ssl(SSL_new(context.get()));
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof kHttp2);
  in6_addr address{};
  // An address is no server name.
  if (inet_pton(AF_INET, host.c_str(), &address) != 1 &&
      inet_pton(AF_INET6, host.c_str(), &address) != 1) {
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  }
  SSL_set_fd(ssl.get(), socket.fd());
  if (SSL_connect(ssl.get()) != 1) {
    return absl::FailedPreconditionError(absl::StrCat("no TLS handshake: ", LastError()));
  }
  const Owned<X509> certificate(SSL_get1_peer_certificate(ssl.get()));
  if (certificate == nullptr) return absl::FailedPreconditionError("the server has no certificate");
  return Describe(ssl.get(), certificate.get(), host);
}

}  // namespace snowlease::cli
