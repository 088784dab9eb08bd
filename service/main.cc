#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "service/config/config_loader.h"
#include "service/log/log.h"
#include "service/server/commands.h"
#include "service/server/fence_command.h"
#include "service/server/signals.h"
#include "service/server/version.h"

// snowlease-server: flags -> config -> environment -> server.

namespace {

using snowlease::service::ConfigRequest;
using snowlease::service::LoadedConfig;
using snowlease::storage::Millis;

constexpr int kUsageError = 2;
constexpr const char* kCommands[] = {"migrate", "fence", "healthcheck", "version"};

int Refuse(const std::vector<std::string>& problems) {
  std::cerr << "snowlease-server: " << problems.size()
            << (problems.size() == 1 ? " fault" : " faults") << " in the configuration\n";
  for (const std::string& problem : problems) std::cerr << "  " << problem << "\n";
  return kUsageError;
}

// The first argument when it is a command; takes it out.
std::string TakeCommand(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return "";
  if (std::find(std::begin(kCommands), std::end(kCommands), arguments[0]) == std::end(kCommands)) {
    return "";
  }
  const std::string command = arguments[0];
  arguments.erase(arguments.begin());
  return command;
}

int Print(const std::string& text) {
  std::cout << text << std::flush;
  return std::cout.good() ? 0 : 1;
}

int Run(const std::string& command, const LoadedConfig& loaded, std::optional<Millis> ahead) {
  if (command == "migrate") return snowlease::service::MigrateStore(loaded.config);
  if (command == "fence") return snowlease::service::FenceStore(loaded.config, *ahead);
  if (command == "healthcheck") return snowlease::service::CheckHealth(loaded.config);
  return snowlease::service::Serve(loaded);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string command = TakeCommand(arguments);
  if (!command.empty()) snowlease::service::EndOnStopSignals();
  std::vector<std::string> problems;
  std::optional<Millis> ahead;
  if (command == "fence") ahead = snowlease::service::TakeAhead(arguments, problems);
  const LoadedConfig loaded =
      snowlease::service::LoadConfig(snowlease::service::ProcessInputs(std::move(arguments)));

  if (loaded.request == ConfigRequest::kHelp) return Print(snowlease::service::HelpText());
  if (loaded.request == ConfigRequest::kVersion || command == "version") {
    return Print(std::string("snowlease-server ") + snowlease::service::kVersion + "\n");
  }
  for (const auto& problem : loaded.problems) problems.push_back(problem.ToString());
  if (!problems.empty()) return Refuse(problems);
  if (loaded.request == ConfigRequest::kPrintConfig) {
    return Print(snowlease::service::PrintedConfig(loaded));
  }
  if (loaded.request == ConfigRequest::kCheckConfig) return Print("the configuration is good\n");

  snowlease::service::StartLogging(loaded.config.log.level, loaded.config.log.format);
  return Run(command, loaded, ahead);
}
