#include "client/cli/completion.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace snowlease::cli {
namespace {

// Calls `visit` with each command and its path, the program's name first.
void Walk(const Command& command, const std::string& path,
          const std::function<void(const Command&, const std::string&)>& visit) {
  visit(command, path);
  for (const Command& child : command.commands) Walk(child, path + " " + child.name, visit);
}

std::string Words(const Command& root, const Command& command) {
  std::vector<std::string> words;
  for (const Command& child : command.commands) words.push_back(child.name);
  for (const CommandOption& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  if (&command != &root) {
    for (const CommandOption& option : root.options) {
      words.insert(words.end(), option.names.begin(), option.names.end());
    }
  }
  return absl::StrJoin(words, " ");
}

// Cases that complete the value of the option before the cursor.
std::string ValueCases(const Command& root) {
  std::string cases;
  Walk(root, root.name, [&cases](const Command& command, const std::string&) {
    for (const CommandOption& option : command.options) {
      if (option.choices.empty()) continue;
      const std::string pattern = absl::StrJoin(option.names, "|");
      if (cases.find("    " + pattern + ")") != std::string::npos) continue;
      absl::StrAppend(&cases, "    ", pattern, ") candidates=\"",
                      absl::StrJoin(option.choices, " "), "\" ;;\n");
    }
  });
  return cases;
}

// The same in bash and zsh: finds the command that the words so far name, then the
// words that may follow. $at, $previous and the list of words come from the shell.
std::string FindWords(const Command& root, const std::string& words_before) {
  std::string text =
      absl::StrCat("  local at=\"", root.name, "\" word candidates=\"\"\n", "  for word in ",
                   words_before, "; do\n", "    case \"$at $word\" in\n");
  Walk(root, root.name, [&](const Command& command, const std::string& path) {
    if (&command != &root) absl::StrAppend(&text, "      \"", path, "\") at=\"", path, "\" ;;\n");
  });
  absl::StrAppend(&text, "    esac\n  done\n  case \"$at\" in\n");
  Walk(root, root.name, [&](const Command& command, const std::string& path) {
    absl::StrAppend(&text, "    \"", path, "\") candidates=\"", Words(root, command), "\" ;;\n");
  });
  absl::StrAppend(&text, "  esac\n  case \"$previous\" in\n", ValueCases(root), "  esac\n");
  return text;
}

std::string FishQuote(const std::string& text) {
  std::string quoted = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') quoted += '\\';
    quoted += character;
  }
  return quoted + "'";
}

// True in fish when the command line so far names exactly that command.
std::string FishCondition(const Command& command, const std::vector<std::string>& path) {
  if (path.empty()) return "__fish_use_subcommand";
  std::vector<std::string> parts;
  for (const std::string& name : path) parts.push_back("__fish_seen_subcommand_from " + name);
  if (!command.commands.empty()) {
    std::string children;
    for (const Command& child : command.commands) absl::StrAppend(&children, " ", child.name);
    parts.push_back("not __fish_seen_subcommand_from" + children);
  }
  return absl::StrJoin(parts, "; and ");
}

std::string FishOption(const CommandOption& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    absl::StrAppend(&text, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  if (option.takes_value) text += " -x";
  if (!option.choices.empty()) {
    absl::StrAppend(&text, " -a ", FishQuote(absl::StrJoin(option.choices, " ")));
  }
  return absl::StrCat(text, " -d ", FishQuote(option.description));
}

void AppendFish(const Command& command, std::vector<std::string>& path, const std::string& program,
                std::string& text) {
  const std::string start =
      absl::StrCat("complete -c ", program, " -n ", FishQuote(FishCondition(command, path)));
  for (const Command& child : command.commands) {
    absl::StrAppend(&text, start, " -f -a ", child.name, " -d ", FishQuote(child.description),
                    "\n");
  }
  // The program's own options may stand everywhere.
  const std::string options_start = path.empty() ? absl::StrCat("complete -c ", program) : start;
  for (const CommandOption& option : command.options) {
    absl::StrAppend(&text, options_start, FishOption(option), "\n");
  }
  for (const Command& child : command.commands) {
    path.push_back(child.name);
    AppendFish(child, path, program, text);
    path.pop_back();
  }
}

}  // namespace

std::string BashCompletion(const Command& root) {
  return absl::StrCat("# bash completion of ", root.name, "; source it from ~/.bashrc\n", "_",
                      root.name, "() {\n",
                      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"\"\n",
                      "  ((COMP_CWORD > 0)) && previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n",
                      FindWords(root, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\""),
                      "  COMPREPLY=($(compgen -W \"$candidates\" -- \"$current\"))\n}\n",
                      "complete -F _", root.name, " ", root.name, "\n");
}

std::string ZshCompletion(const Command& root) {
  return absl::StrCat("#compdef ", root.name, "\n_", root.name, "() {\n",
                      "  local -a before=(\"${(@)words[2,CURRENT-1]}\")\n",
                      "  local previous=\"${words[CURRENT-1]}\"\n",
                      FindWords(root, "\"${before[@]}\""), "  compadd -- ${=candidates}\n}\n",
                      "compdef _", root.name, " ", root.name, "\n");
}

std::string FishCompletion(const Command& root) {
  std::string text =
      absl::StrCat("# fish completion of ", root.name,
                   "; save it in ~/.config/fish/completions\ncomplete -c ", root.name, " -f\n");
  std::vector<std::string> path;
  AppendFish(root, path, root.name, text);
  return text;
}

}  // namespace snowlease::cli
