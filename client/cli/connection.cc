#include "client/cli/connection.h"

#include "absl/strings/str_cat.h"

namespace snowlease::cli {

client::ClientOptions ConnectionOptions(const GlobalOptions& global) {
  client::ClientOptions options;
  options.endpoints = {global.server};
  options.timeout = std::chrono::milliseconds(global.timeout_ms);
  if (global.tls) {
    options.tls = client::TlsOptions{.ca_file = global.ca_file,
                                     .server_name = global.server_name,
                                     .cert_file = global.cert_file,
                                     .key_file = global.key_file};
  }
  options.user_agent = absl::StrCat("snowlease-cli/", SNOWLEASE_VERSION);
  return options;
}

absl::StatusOr<std::unique_ptr<client::Client>> Connect(const GlobalOptions& global) {
  return client::Client::Create(ConnectionOptions(global));
}

int64_t NowMs() { return client::Clock::Real()->Now().count(); }

}  // namespace snowlease::cli
