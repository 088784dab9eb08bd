#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/console.h"
#include "snowlease/client.h"

namespace snowlease::cli {

// What a command line wants of a connection: one server, quick about one that is
// not there.
client::ClientOptions ConnectionOptions(const GlobalOptions& global);
absl::StatusOr<std::unique_ptr<client::Client>> Connect(const GlobalOptions& global);

int64_t NowMs();

}  // namespace snowlease::cli
