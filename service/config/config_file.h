#pragma once

#include <string>
#include <utility>
#include <vector>

namespace snowlease::service {

// One leaf of a YAML file: maps joined by dots, "store: {url: x}" is "store.url".
struct FileEntry {
  std::string key;
  std::vector<std::string> items;
  bool is_list = false;
  int line = 0;  // from 1
};

struct ConfigFile {
  std::vector<FileEntry> entries;
  std::vector<std::pair<int, std::string>> faults;  // line and what is wrong there
};

// An empty file has no entries. Knows nothing of which settings there are.
ConfigFile ParseConfigFile(const std::string& text);

}  // namespace snowlease::service
