#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "service/config/config.h"

namespace snowlease::service {

// Where settings come from; the process's own in main, made up in tests.
struct ConfigInputs {
  std::vector<std::string> arguments;  // without the program's name and the command
  std::map<std::string, std::string> environment;
  // Contents of a file; none when it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

enum class ConfigRequest { kRun, kPrintConfig, kCheckConfig, kHelp, kVersion };

struct LoadedConfig {
  Config config;
  ConfigRequest request = ConfigRequest::kRun;
  std::map<std::string, std::string> sources;  // key -> "flag --store-url"; absent: default
  std::vector<ConfigProblem> problems;         // empty: fit to start
  std::vector<std::string> warnings;
};

// Reads all sources: flag > environment > YAML file (--config or SNOWLEASE_CONFIG) >
// default. Finds all problems, not just the first.
LoadedConfig LoadConfig(const ConfigInputs& inputs);

// The inputs of this process; `arguments` as above.
ConfigInputs ProcessInputs(std::vector<std::string> arguments);

// Usage and all settings.
std::string HelpText();
// The effective settings as YAML, each with its source; secrets are left out.
std::string PrintedConfig(const LoadedConfig& loaded);

}  // namespace snowlease::service
