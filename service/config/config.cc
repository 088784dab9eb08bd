#include "service/config/config.h"

#include <string_view>

#include "service/config/settings.h"

namespace snowlease::service {
namespace {

bool HasCredentials(std::string_view url) {
  return !url.starts_with("sqlite:") && !url.starts_with("memory:");
}

std::string PercentEncoded(const std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// Of the stores that read the file themselves whenever they connect: a password that was
// changed needs no restart.
bool ReadsPasswordFile(std::string_view url) {
  return url.starts_with("mysql://") || url.starts_with("mariadb://");
}

// The URL with another user and password where they are given.
std::string WithAccount(const std::string& url, const std::string& new_user,
                        const std::string& new_password, bool keep_password) {
  const size_t authority = url.find("://");
  if (authority == std::string::npos ||
      (new_user.empty() && new_password.empty() && keep_password)) {
    return url;
  }
  const size_t begin = authority + 3;
  const size_t end = std::min(url.find('/', begin), url.size());
  const size_t at = url.rfind('@', end);
  std::string user, password;
  size_t host = begin;
  if (at != std::string::npos && at >= begin && at < end) {
    host = at + 1;
    const std::string account = url.substr(begin, at - begin);
    const size_t colon = std::min(account.find(':'), account.size());
    user = account.substr(0, colon);
    if (colon < account.size() && keep_password) password = account.substr(colon + 1);
  }
  if (!new_user.empty()) user = PercentEncoded(new_user);
  if (!new_password.empty()) password = PercentEncoded(new_password);
  const std::string account = user + (password.empty() ? "" : ":" + password);
  return url.substr(0, begin) + account + (account.empty() ? "" : "@") + url.substr(host);
}

void CheckCredentials(const Config& config, std::vector<ConfigProblem>& problems) {
  const Config::Store& store = config.store;
  if (HasCredentials(store.url)) return;
  const auto refuse = [&](const char* setting, const std::string& value) {
    if (value.empty()) return;
    problems.push_back(
        {setting, "", "has no effect: the store of store.url has no accounts; leave it out"});
  };
  refuse("store.user", store.user);
  refuse("store.password-file", store.password_file);
  if (store.password_file.empty()) refuse("store.password", store.password);
}

void CheckListeners(const Config& config, std::vector<ConfigProblem>& problems) {
  std::string fix;
  const auto grpc = ParseListenAddress(config.grpc.listen, &fix);
  const auto http = ParseListenAddress(config.http.listen, &fix);
  if (!config.http.enabled || !grpc || !http || grpc->port == 0 || grpc->port != http->port) {
    return;
  }
  if (grpc->host == http->host || grpc->IsWildcard() || http->IsWildcard()) {
    problems.push_back({"http.listen", "",
                        "is the port of grpc.listen (" + config.grpc.listen +
                            "); give each its own, for example 7070 and 7071"});
  }
}

void CheckTls(const Config& config, std::vector<ConfigProblem>& problems) {
  const Config::Grpc::Tls& tls = config.grpc.tls;
  if (tls.cert_file.empty() && !tls.key_file.empty()) {
    problems.push_back(
        {"grpc.tls.key-file", "", "has no effect without grpc.tls.cert-file; set both"});
  }
  if (!tls.cert_file.empty() && tls.key_file.empty()) {
    problems.push_back(
        {"grpc.tls.cert-file", "", "needs its private key; set grpc.tls.key-file, too"});
  }
  if (tls.cert_file.empty() && !tls.client_ca_file.empty()) {
    problems.push_back({"grpc.tls.client-ca-file", "",
                        "has no effect without TLS; set grpc.tls.cert-file and grpc.tls.key-file"});
  }
}

void CheckSizes(const Config& config, std::vector<ConfigProblem>& problems) {
  if (config.batching.max_queue < config.batching.max_batch) {
    problems.push_back({"batching.max-queue", "",
                        "is smaller than batching.max-batch (" +
                            std::to_string(config.batching.max_batch) +
                            "); raise it to that at least"});
  }
  if (config.lease.quarantine < config.lease.max_clock_ahead) {
    problems.push_back({"lease.quarantine", "",
                        "is shorter than lease.max-clock-ahead (" +
                            FormatDuration(config.lease.max_clock_ahead) +
                            "), so a machine id could be granted again below timestamps that its "
                            "last holder used; raise it to that at least"});
  }
}

}  // namespace

std::string ConfigProblem::ToString() const {
  return setting + (source.empty() ? "" : " (" + source + ")") + ": " + what;
}

std::vector<ConfigProblem> Config::Validate() const {
  std::vector<ConfigProblem> problems;
  for (const Setting& setting : Settings()) {
    const std::optional<std::string> fault = setting.check(*this);
    if (fault) problems.push_back({setting.key, "", *fault});
  }
  CheckCredentials(*this, problems);
  CheckListeners(*this, problems);
  CheckTls(*this, problems);
  CheckSizes(*this, problems);
  return problems;
}

std::string Config::StoreUrl() const {
  if (store.password_file.empty() || !ReadsPasswordFile(store.url)) {
    return WithAccount(store.url, store.user, store.password, /*keep_password=*/true);
  }
  const std::string url = WithAccount(store.url, store.user, "", /*keep_password=*/false);
  return url + (url.find('?') == std::string::npos ? "?" : "&") +
         "password_file=" + PercentEncoded(store.password_file);
}

storage::StoreOptions Config::StoreOptions() const {
  storage::StoreOptions options;
  options.max_clock_ahead = lease.max_clock_ahead;
  options.quarantine = lease.quarantine;
  options.grants_kept = static_cast<int>(lease.history);
  return options;
}

}  // namespace snowlease::service
