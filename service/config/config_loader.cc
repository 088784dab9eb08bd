#include "service/config/config_loader.h"

#include <set>

#include "service/config/config_file.h"
#include "service/config/settings.h"
#include "storage/store_factory.h"

namespace snowlease::service {
namespace {

constexpr char kConfigVariable[] = "SNOWLEASE_CONFIG";

// Variables with our prefix that are not the server's: those of the command line and
// of the programs that it runs.
bool IsForeignVariable(const std::string& name, const std::string& value) {
  static const std::set<std::string> kOthers = {
      "SNOWLEASE_SERVER",        "SNOWLEASE_NAMESPACE", "SNOWLEASE_INSTANCE_ID",
      "SNOWLEASE_MACHINE_ID",    "SNOWLEASE_TOKEN",     "SNOWLEASE_FLOOR_MS",
      "SNOWLEASE_WINDOW_END_MS", "SNOWLEASE_TLS",       "SNOWLEASE_CA_FILE",
      "SNOWLEASE_SERVER_NAME",   "SNOWLEASE_CERT_FILE", "SNOWLEASE_KEY_FILE"};
  if (kOthers.count(name) > 0) return true;
  // Kubernetes gives every pod such variables for a Service named snowlease or
  // snowlease-something.
  return name.ends_with("_SERVICE_HOST") || name.find("_SERVICE_PORT") != std::string::npos ||
         name.find("_PORT_") != std::string::npos ||
         (name.ends_with("_PORT") && value.find("://") != std::string::npos);
}

std::vector<std::string> AllFlags() {
  std::vector<std::string> flags = {"--config", "--print-config", "--check-config", "--help",
                                    "--version"};
  for (const Setting& setting : Settings()) flags.push_back(setting.Flag());
  return flags;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = Suggest(word, candidates);
  return near ? "did you mean " + *near + "?" : "see --help for all that there are";
}

// A flag as it was given; `value` none: nothing followed.
struct GivenFlag {
  std::string name;
  std::optional<std::string> value;
};

class Loader {
 public:
  explicit Loader(const ConfigInputs& inputs) : inputs_(inputs) {}

  LoadedConfig Load() {
    const std::vector<GivenFlag> flags = ReadFlags();
    ApplyFile();
    ApplyEnvironment();
    ApplyFlags(flags);
    ReadSecretFile();
    for (ConfigProblem problem : loaded_.config.Validate()) {
      const auto source = loaded_.sources.find(problem.setting);
      problem.source = source == loaded_.sources.end() ? "default" : source->second;
      loaded_.problems.push_back(std::move(problem));
    }
    return std::move(loaded_);
  }

 private:
  void Problem(std::string setting, std::string source, std::string what) {
    loaded_.problems.push_back({std::move(setting), std::move(source), std::move(what)});
  }

  static const Setting* SettingOfFlag(const std::string& flag) {
    for (const Setting& setting : Settings()) {
      if (setting.Flag() == flag) return &setting;
    }
    return nullptr;
  }

  // Takes what is no setting out of the arguments and answers the settings.
  std::vector<GivenFlag> ReadFlags() {
    std::vector<GivenFlag> flags;
    for (size_t i = 0; i < inputs_.arguments.size(); ++i) {
      const std::string& argument = inputs_.arguments[i];
      if (argument == "-h" || argument == "--help") {
        loaded_.request = ConfigRequest::kHelp;
      } else if (argument == "--version") {
        loaded_.request = ConfigRequest::kVersion;
      } else if (argument == "--print-config") {
        loaded_.request = ConfigRequest::kPrintConfig;
      } else if (argument == "--check-config") {
        loaded_.request = ConfigRequest::kCheckConfig;
      } else if (argument.starts_with("--")) {
        flags.push_back(TakeFlag(i));
      } else {
        Problem(argument, "command line",
                "is not expected here; settings are given as --name=value");
      }
    }
    return flags;
  }

  GivenFlag TakeFlag(size_t& i) {
    const std::string& argument = inputs_.arguments[i];
    const size_t equals = argument.find('=');
    if (equals != std::string::npos) {
      return {argument.substr(0, equals), argument.substr(equals + 1)};
    }
    const bool more = i + 1 < inputs_.arguments.size();
    const std::string next = more ? inputs_.arguments[i + 1] : "";
    const Setting* setting = SettingOfFlag(argument);
    const bool takes_next = setting != nullptr && setting->is_switch
                                ? next == "true" || next == "false"
                                : more && !next.starts_with("--");
    if (!takes_next) return {argument, std::nullopt};
    ++i;
    return {argument, next};
  }

  void ApplyFlags(const std::vector<GivenFlag>& flags) {
    std::set<std::string> seen;
    for (const GivenFlag& flag : flags) {
      const Setting* setting = SettingOfFlag(flag.name);
      const std::string source = "flag " + flag.name;
      if (flag.name == "--config") {
        if (!flag.value) Problem("--config", "command line", "needs the path of a file");
      } else if (setting == nullptr) {
        Problem(flag.name, "command line", "is not known; " + DidYouMean(flag.name, AllFlags()));
      } else if (setting->secret) {
        Problem(setting->key, source,
                "is visible to everybody as a flag; use " + setting->Variable() + " or " +
                    setting->Flag() + "-file");
      } else if (!seen.insert(flag.name).second && !setting->list) {
        Problem(setting->key, source, "is given twice; leave one out");
      } else if (!flag.value && !setting->is_switch) {
        Problem(setting->key, source, "needs a value: " + flag.name + "=" + setting->type);
      } else {
        Apply(*setting, source, flag.value.value_or("true"), flag.name == last_list_flag_);
        if (setting->list) last_list_flag_ = flag.name;
      }
    }
    WarnOfVisiblePassword();
  }

  void WarnOfVisiblePassword() {
    const auto source = loaded_.sources.find("store.url");
    if (source == loaded_.sources.end() || !source->second.starts_with("flag")) return;
    if (storage::RedactedUrl(loaded_.config.store.url) == loaded_.config.store.url) return;
    loaded_.warnings.push_back(
        "the password in --store-url is visible to everybody on this host; use "
        "--store-password-file");
  }

  // Takes the text of a flag or variable.
  void Apply(const Setting& setting, const std::string& source, const std::string& text,
             bool append = false) {
    if (!setting.list) return ApplyItems(setting, source, {text});
    std::vector<std::string> items = SplitList(text);
    if (append) {
      const std::vector<std::string> before = setting.get(loaded_.config);
      items.insert(items.begin(), before.begin(), before.end());
    }
    ApplyItems(setting, source, items);
  }

  void ApplyItems(const Setting& setting, const std::string& source,
                  const std::vector<std::string>& items) {
    const std::optional<std::string> fault = setting.set(loaded_.config, items);
    if (fault) {
      Problem(setting.key, source, *fault);
    } else {
      loaded_.sources[setting.key] = source;
    }
  }

  void ApplyEnvironment() {
    std::vector<std::string> known = {kConfigVariable};
    for (const Setting& setting : Settings()) known.push_back(setting.Variable());
    for (const auto& [name, value] : inputs_.environment) {
      if (!name.starts_with("SNOWLEASE_") || name == kConfigVariable) continue;
      const Setting* found = nullptr;
      for (const Setting& setting : Settings()) {
        if (setting.Variable() == name) found = &setting;
      }
      if (found != nullptr) {
        Apply(*found, "environment " + name, value);
      } else if (!IsForeignVariable(name, value)) {
        Problem(name, "environment", "is not known; " + DidYouMean(name, known));
      }
    }
  }

  std::string ConfigPath() const {
    for (size_t i = 0; i < inputs_.arguments.size(); ++i) {
      const std::string& argument = inputs_.arguments[i];
      if (argument.starts_with("--config=")) return argument.substr(9);
      if (argument == "--config" && i + 1 < inputs_.arguments.size()) {
        return inputs_.arguments[i + 1];
      }
    }
    const auto variable = inputs_.environment.find(kConfigVariable);
    return variable == inputs_.environment.end() ? "" : variable->second;
  }

  void ApplyFile() {
    const std::string path = ConfigPath();
    if (path.empty()) return;
    const std::optional<std::string> text = inputs_.read_file(path);
    if (!text) return Problem("--config", path, "cannot be read; check the path and its rights");
    const ConfigFile file = ParseConfigFile(*text);
    for (const auto& [line, what] : file.faults) {
      Problem("line " + std::to_string(line), "file " + path, what);
    }
    std::vector<std::string> known;
    for (const Setting& setting : Settings()) known.push_back(setting.key);
    for (const FileEntry& entry : file.entries) {
      const std::string source = "file " + path + " line " + std::to_string(entry.line);
      const Setting* setting = FindSetting(entry.key);
      if (setting == nullptr) {
        Problem(entry.key, source, "is not known; " + DidYouMean(entry.key, known));
      } else if (setting->list && !entry.is_list) {
        ApplyItems(*setting, source, SplitList(entry.items[0]));
      } else if (entry.is_list && !setting->list) {
        Problem(entry.key, source, "takes one value, not a list");
      } else {
        ApplyItems(*setting, source, entry.items);
      }
    }
  }

  void ReadSecretFile() {
    Config::Store& store = loaded_.config.store;
    if (store.password_file.empty()) return;
    const std::string& source = loaded_.sources["store.password-file"];
    if (!store.password.empty()) {
      return Problem("store.password-file", source,
                     "is given together with store.password; leave one out");
    }
    const std::optional<std::string> text = inputs_.read_file(store.password_file);
    if (!text) {
      return Problem("store.password-file", source,
                     store.password_file + " cannot be read; check the path and its rights");
    }
    store.password = text->substr(0, text->find_last_not_of("\r\n") + 1);
    if (store.password.empty()) {
      return Problem("store.password-file", source, store.password_file + " is empty");
    }
    loaded_.sources["store.password"] = "file " + store.password_file;
  }

  const ConfigInputs& inputs_;
  LoadedConfig loaded_;
  std::string last_list_flag_;
};

}  // namespace

LoadedConfig LoadConfig(const ConfigInputs& inputs) { return Loader(inputs).Load(); }

}  // namespace snowlease::service
