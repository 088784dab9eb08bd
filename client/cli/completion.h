#pragma once

#include <string>

#include "client/cli/command_tree.h"

namespace snowlease::cli {

std::string BashCompletion(const Command& root);
std::string ZshCompletion(const Command& root);
std::string FishCompletion(const Command& root);

}  // namespace snowlease::cli
