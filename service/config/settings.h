#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "service/config/config.h"

namespace snowlease::service {

// One row of the table of settings: flag, environment variable, YAML path, help and
// documentation all come from it.
struct Setting {
  std::string key;   // "store.url", also the path in YAML
  std::string type;  // what a value looks like, for help: "duration 1s..24h"
  std::string doc;   // one line
  bool list = false;
  bool secret = false;     // never shown; has no flag, because flags are visible to everybody
  bool is_switch = false;  // the flag alone means true

  // Parses into the config; answers what is wrong with the text, or none.
  std::function<std::optional<std::string>(Config&, const std::vector<std::string>&)> set;
  // Answers what is wrong with the value, or none.
  std::function<std::optional<std::string>(const Config&)> check;
  // The value as items that `set` would take.
  std::function<std::vector<std::string>(const Config&)> get;

  std::string Flag() const;      // "--store-url"
  std::string Variable() const;  // "SNOWLEASE_STORE_URL"
};

// All settings, by section.
const std::vector<Setting>& Settings();
// Null when there is none of that key.
const Setting* FindSetting(const std::string& key);

}  // namespace snowlease::service
