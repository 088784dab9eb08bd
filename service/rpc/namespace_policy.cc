#include "service/rpc/namespace_policy.h"

#include <algorithm>

namespace snowlease::service {

bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  // Where to go on when what follows the last star does not match here.
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool NamespaceCreation::Allows(std::string_view name) const {
  if (!allowed) return false;
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const auto& glob) { return GlobMatches(glob, name); });
}

}  // namespace snowlease::service
