#pragma once

#include <optional>
#include <string>

#include "client/cli/console.h"

namespace snowlease::cli {

// How the ids at hand are laid out.
struct LayoutOptions {
  std::string layout = "snowflake-ms";
  std::optional<int64_t> epoch_ms;
  std::string bits;  // timestamp/machine/sequence; empty: the layout's own
};

// Takes an id, or its friendly form, apart. No server is asked.
int RunDecode(Console& console, const GlobalOptions& global, const LayoutOptions& layout,
              const std::string& id);
// Decodes and asks the server which grants cover the id.
int RunOwner(Console& console, const GlobalOptions& global, const LayoutOptions& layout,
             const std::string& name_space, const std::string& id);

}  // namespace snowlease::cli
