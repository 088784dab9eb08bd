#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace snowlease::service {

// Does the text match the pattern? `*` stands for any bytes, `?` for one byte,
// everything else for itself. Never exponential: at most pattern times text steps.
bool GlobMatches(std::string_view pattern, std::string_view text);

// Which namespaces a claim may create.
struct NamespaceCreation {
  bool allowed = true;                // false: only operators create namespaces
  std::vector<std::string> patterns;  // globs; empty: every name

  bool Allows(std::string_view name) const;
};

}  // namespace snowlease::service
