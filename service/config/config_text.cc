#include <fstream>
#include <sstream>

#include "service/config/config_loader.h"
#include "service/config/settings.h"
#include "storage/store_factory.h"

extern char** environ;  // NOLINT: POSIX names it so

namespace snowlease::service {
namespace {

constexpr char kUsage[] =
    R"(snowlease-server: leases machine ids to running instances

Usage: snowlease-server [COMMAND] [--NAME=VALUE...]

Commands:
  (none)         serve
  migrate        bring the store's schema up to date and leave
  fence          with --ahead=DURATION, while no server runs: make a restored store safe to
                 serve from; see docs/operations.md
  healthcheck    ask the server at grpc.listen whether it serves; exit 0 or 1
  version        print the version and leave

Options:
  --config FILE    read settings from a YAML file (also SNOWLEASE_CONFIG)
  --print-config   print the effective settings as YAML, with the source of each
  --check-config   check the settings and leave: exit 0, or 2 and all faults
  --help           print this
  --version        print the version

Settings: flag > environment > file > default. --store-url is SNOWLEASE_STORE_URL in
the environment and "url" under "store" in the file. Lists are separated by commas.
)";

std::string Section(const std::string& key) { return key.substr(0, key.find('.')); }

std::string Shown(const Setting& setting, const Config& config) {
  if (setting.secret) return setting.get(config)[0].empty() ? "" : "(set, not shown)";
  if (setting.key == "store.url") return storage::RedactedUrl(config.store.url);
  std::string text;
  for (const std::string& item : setting.get(config)) text += (text.empty() ? "" : ",") + item;
  return text;
}

std::string YamlText(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string YamlValue(const Setting& setting, const Config& config) {
  if (!setting.list) return YamlText(Shown(setting, config));
  std::string out;
  for (const std::string& item : setting.get(config)) {
    out += (out.empty() ? "" : ", ") + YamlText(item);
  }
  return "[" + out + "]";
}

}  // namespace

std::string HelpText() {
  std::ostringstream out;
  out << kUsage;
  const Config defaults;
  std::string section;
  for (const Setting& setting : Settings()) {
    if (Section(setting.key) != section) out << "\n";
    section = Section(setting.key);
    const std::string shown = Shown(setting, defaults);
    out << "  " << (setting.secret ? setting.Variable() : setting.Flag()) << " (" << setting.type
        << (shown.empty() ? "" : "; default " + shown) << ")\n      " << setting.doc << "\n";
  }
  return out.str();
}

std::string PrintedConfig(const LoadedConfig& loaded) {
  std::ostringstream out;
  std::string section;
  for (const Setting& setting : Settings()) {
    if (Section(setting.key) != section) out << Section(setting.key) << ":\n";
    section = Section(setting.key);
    const auto source = loaded.sources.find(setting.key);
    // A redacted value is a comment, so that the output can be used as a file.
    out << (setting.secret ? "  # " : "  ") << setting.key.substr(section.size() + 1) << ": "
        << YamlValue(setting, loaded.config) << "  # "
        << (source == loaded.sources.end() ? "default" : source->second) << "\n";
  }
  return out.str();
}

ConfigInputs ProcessInputs(std::vector<std::string> arguments) {
  ConfigInputs inputs;
  inputs.arguments = std::move(arguments);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    inputs.environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  inputs.read_file = [](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream contents;
    if (!file || !(contents << file.rdbuf()).good()) {
      // An empty file fails the copy, too.
      if (file.is_open() && file.peek() == std::ifstream::traits_type::eof()) return "";
      return std::nullopt;
    }
    return contents.str();
  };
  return inputs;
}

}  // namespace snowlease::service
