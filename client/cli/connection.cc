#include "client/cli/connection.h"

#include "absl/strings/str_cat.h"

namespace snowlease::cli {

client::ClientOptions ConnectionOptions(const GlobalOptions& global) {
  client::ClientOptions options;
  options.endpoints = {global.server};
  options.timeout = std::chrono::milliseconds(global.timeout_ms);
  options.user_agent = absl::StrCat("snowlease-cli/", SNOWLEASE_VERSION);
  return options;
}

absl::StatusOr<std::unique_ptr<client::Client>> Connect(const GlobalOptions& global) {
  return client::Client::Create(ConnectionOptions(global));
}

int64_t NowMs() { return client::Clock::Real()->Now().count(); }

}  // namespace snowlease::cli
