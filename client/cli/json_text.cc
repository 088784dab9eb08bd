#include "client/cli/json_text.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace snowlease::cli {
namespace {

bool IsPlainInYaml(const std::string& key) {
  static const std::set<std::string> words = {"true", "false", "null", "yes", "no",
                                              "on",   "off",   "y",    "n"};
  const auto is_letter = [](unsigned char character) {
    return absl::ascii_isalpha(character) || character == '_';
  };
  return !key.empty() && std::all_of(key.begin(), key.end(), is_letter) &&
         words.count(absl::AsciiStrToLower(key)) == 0;
}

// Walks valid JSON and writes it in one of two layouts.
class Layout {
 public:
  Layout(const std::string& json, bool yaml) : json_(json), yaml_(yaml) {}

  std::string Write() {
    Value(0, /*after_key=*/false);
    if (text_.empty() || text_.back() != '\n') text_ += "\n";
    return std::move(text_);
  }

 private:
  char Peek() {
    while (at_ < json_.size() && std::string(" \t\r\n").find(json_[at_]) != std::string::npos)
      ++at_;
    return at_ < json_.size() ? json_[at_] : '\0';
  }

  // A string with its quotes, a number, true, false or null.
  std::string Scalar() {
    const size_t begin = at_;
    if (Peek() == '"') {
      for (++at_; at_ < json_.size() && json_[at_] != '"'; ++at_) at_ += json_[at_] == '\\';
      ++at_;
    } else {
      at_ = std::min(json_.find_first_of(",]} \t\r\n", at_), json_.size());
    }
    return json_.substr(begin, at_ - begin);
  }

  void Value(int depth, bool after_key) {
    const char first = Peek();
    if (first == '{' || first == '[') {
      yaml_ ? YamlContainer(depth, after_key) : JsonContainer(depth);
    } else {
      if (yaml_ && after_key) text_ += " ";
      text_ += Scalar();
    }
  }

  void JsonContainer(int depth) {
    const char open = json_[at_++];
    const char close = open == '{' ? '}' : ']';
    text_ += open;
    bool empty = true;
    for (; Peek() != close && Peek() != '\0'; empty = false) {
      if (Peek() == ',') ++at_;
      text_ += empty ? "\n" : ",\n";
      text_.append(static_cast<size_t>(depth + 1) * 2, ' ');
      if (open == '{') Key(": ");
      Value(depth + 1, false);
    }
    ++at_;
    if (!empty) {
      text_ += "\n";
      text_.append(static_cast<size_t>(depth) * 2, ' ');
    }
    text_ += close;
  }

  void Key(const char* separator) {
    Peek();
    std::string key = Scalar();
    if (yaml_ && IsPlainInYaml(key.substr(1, key.size() - 2))) key = key.substr(1, key.size() - 2);
    text_ += key + separator;
    if (Peek() == ':') ++at_;
  }

  void YamlContainer(int depth, bool after_key) {
    const char open = json_[at_++];
    const char close = open == '{' ? '}' : ']';
    if (Peek() == close) {
      ++at_;
      text_ += after_key ? " " : "";
      text_ += open == '{' ? "{}" : "[]";
      return;
    }
    bool first = true;
    for (; Peek() != close && Peek() != '\0'; first = false) {
      if (Peek() == ',') ++at_;
      // The first key of an object within a list stands behind the list's dash.
      if (!first || after_key) {
        text_ += "\n";
        text_.append(static_cast<size_t>(depth) * 2, ' ');
      }
      if (open == '{') {
        Key(":");
        Value(depth + 1, true);
      } else {
        text_ += "- ";
        Value(depth + 1, false);
      }
    }
    ++at_;
  }

  const std::string& json_;
  const bool yaml_;
  size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string JsonString(const std::string& text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      quoted += '\\';
      quoted += character;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      quoted += absl::StrFormat("\\u%04x", static_cast<int>(character));
    } else {
      quoted += character;
    }
  }
  return quoted + "\"";
}

std::string PrettyJson(const std::string& json) { return Layout(json, false).Write(); }

std::string ToYaml(const std::string& json) { return Layout(json, true).Write(); }

}  // namespace snowlease::cli
