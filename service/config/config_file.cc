#include "service/config/config_file.h"

#include <yaml-cpp/yaml.h>

#include <set>

namespace snowlease::service {
namespace {

class Flattener {
 public:
  explicit Flattener(ConfigFile* file) : file_(file) {}

  void Visit(const std::string& key, const YAML::Node& node) {
    if (node.IsMap()) {
      for (const auto& child : node) VisitChild(key, child.first, child.second);
      return;
    }
    const int line = node.Mark().line + 1;
    if (key.empty())
      return Fault(line,
                   "the file is no map of settings; write for example\n"
                   "    store:\n      url: sqlite:./data/snowlease.db");
    FileEntry entry{key, {}, node.IsSequence(), line};
    if (node.IsNull()) return Fault(line, key + " has no value; give one or leave it out");
    if (node.IsScalar()) entry.items.push_back(node.Scalar());
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) return Fault(line, key + " is a list of plain values only");
      entry.items.push_back(item.Scalar());
    }
    if (!seen_.insert(key).second) return Fault(line, key + " is set twice; leave one out");
    file_->entries.push_back(std::move(entry));
  }

 private:
  void VisitChild(const std::string& parent, const YAML::Node& name, const YAML::Node& value) {
    if (!name.IsScalar()) return Fault(name.Mark().line + 1, "a setting's name is plain text");
    Visit(parent.empty() ? name.Scalar() : parent + "." + name.Scalar(), value);
  }

  void Fault(int line, std::string what) { file_->faults.emplace_back(line, std::move(what)); }

  ConfigFile* file_;
  std::set<std::string> seen_;
};

}  // namespace

ConfigFile ParseConfigFile(const std::string& text) {
  ConfigFile file;
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsDefined() && !root.IsNull()) Flattener(&file).Visit("", root);
  } catch (const YAML::Exception& error) {
    file.faults.emplace_back(error.mark.line + 1, "is no YAML: " + error.msg);
  }
  return file;
}

}  // namespace snowlease::service
