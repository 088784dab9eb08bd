#pragma once

#include <string>
#include <vector>

namespace snowlease::cli {

// What completion scripts are made from.
struct CommandOption {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  bool takes_value = false;
  std::vector<std::string> choices;
};

struct Command {
  std::string name;
  std::string description;
  std::vector<CommandOption> options;
  std::vector<Command> commands;
};

}  // namespace snowlease::cli
