#include "service/http/request_guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "service/http/http_status.h"

namespace snowlease::service {
namespace {

using grpc::StatusCode;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool IsAddress(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::optional<HttpResponse> CheckHost(const HttpRequest& head, const GuardOptions& options) {
  if (head.headers.count("host") != 1) {
    return HttpFault(400, StatusCode::INVALID_ARGUMENT, "send exactly one Host header");
  }
  const std::string host = HostName(head.Header("host"));
  const bool any_name = !options.loopback && options.allowed_hosts.empty();
  if (any_name || host == "localhost" || IsAddress(host)) return std::nullopt;
  for (const std::string& allowed : options.allowed_hosts) {
    if (Lower(allowed) == host) return std::nullopt;
  }
  return HttpFault(403, StatusCode::PERMISSION_DENIED,
                   "host \"" + host + "\" is not served here; add it to http.allowed-hosts");
}

std::optional<HttpResponse> CheckOrigin(const HttpRequest& head) {
  const std::string host = Lower(head.Header("host"));
  const auto [begin, end] = head.headers.equal_range("origin");
  for (auto it = begin; it != end; ++it) {
    const std::string origin = Lower(it->second);
    if (origin == "http://" + host || origin == "https://" + host) continue;
    return HttpFault(403, StatusCode::PERMISSION_DENIED,
                     "requests from other sites (Origin) are refused");
  }
  if (Lower(head.Header("sec-fetch-site")) == "cross-site") {
    return HttpFault(403, StatusCode::PERMISSION_DENIED,
                     "requests from other sites (Sec-Fetch-Site) are refused");
  }
  return std::nullopt;
}

bool IsJson(const std::string& content_type) {
  std::string type = Lower(content_type.substr(0, content_type.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  return type == "application/json";
}

std::optional<HttpResponse> CheckBody(const HttpRequest& head, const GuardOptions& options) {
  const std::string length_text = head.Header("content-length");
  if (head.headers.count("transfer-encoding") > 0 || head.headers.count("content-length") != 1) {
    return HttpFault(411, StatusCode::INVALID_ARGUMENT,
                     "send the body with one Content-Length header, not in chunks");
  }
  size_t length = 0;
  const char* const end = length_text.data() + length_text.size();
  const auto parsed = std::from_chars(length_text.data(), end, length);
  if (parsed.ptr != end || length_text.empty() ||
      (parsed.ec != std::errc() && parsed.ec != std::errc::result_out_of_range)) {
    return HttpFault(400, StatusCode::INVALID_ARGUMENT, "Content-Length is not a number");
  }
  if (parsed.ec != std::errc() || length > options.max_body_bytes) {
    return HttpFault(413, StatusCode::INVALID_ARGUMENT,
                     "the body has more than " + std::to_string(options.max_body_bytes) + " bytes");
  }
  const std::string encoding = Lower(head.Header("content-encoding"));
  if (!encoding.empty() && encoding != "identity") {
    return HttpFault(415, StatusCode::INVALID_ARGUMENT, "send the body uncompressed");
  }
  if (!IsJson(head.Header("content-type"))) {
    return HttpFault(415, StatusCode::INVALID_ARGUMENT,
                     "send the header Content-Type: application/json");
  }
  return std::nullopt;
}

}  // namespace

std::string HostName(const std::string& host_header) {
  const std::string host = Lower(host_header);
  if (host.starts_with('[')) return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  return host.substr(0, host.find(':'));
}

std::optional<HttpResponse> RefusalOf(const HttpRequest& head, const GuardOptions& options) {
  if (auto refusal = CheckHost(head, options)) return refusal;
  if (auto refusal = CheckOrigin(head)) return refusal;
  if (head.method == "POST") return CheckBody(head, options);
  return std::nullopt;
}

}  // namespace snowlease::service
