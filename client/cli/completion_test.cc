#include "client/cli/completion.h"

#include <cstdio>
#include <fstream>

#include "client/cli/cli_run_for_tests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::cli {
namespace {

using ::testing::HasSubstr;

std::string ScriptFor(const std::string& shell) {
  const CliRun run = RunWith({"completion", shell});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  return run.out;
}

// What bash offers for the last of `words`.
std::string Offers(const std::vector<std::string>& words) {
  const std::string path = ::testing::TempDir() + "snowlease_completion.bash";
  std::ofstream script(path);
  script << ScriptFor("bash") << "COMP_WORDS=(";
  for (const std::string& word : words) script << "'" << word << "' ";
  script << ")\nCOMP_CWORD=" << words.size() - 1 << "\n_snowlease\necho \"${COMPREPLY[*]}\"\n";
  script.close();
  FILE* bash = popen(("bash --noprofile --norc " + path + " 2>&1").c_str(), "r");
  std::string offers;
  char buffer[4096];
  while (fgets(buffer, sizeof(buffer), bash) != nullptr) offers += buffer;
  EXPECT_EQ(pclose(bash), 0) << offers;
  return offers;
}

TEST(CompletionTest, BashOffersCommandsOptionsAndValues) {
  EXPECT_EQ(Offers({"snowlease", "re"}), "renew release\n");
  EXPECT_EQ(Offers({"snowlease", "namespaces", ""}).substr(0, 20), "list get set delete ");
  EXPECT_EQ(Offers({"snowlease", "leases", "force"}), "force-release\n");
  EXPECT_EQ(Offers({"snowlease", "claim", "--sa"}), "--safe-guard\n");
  EXPECT_EQ(Offers({"snowlease", "claim", "--serv"}), "--server --server-name\n");
  EXPECT_EQ(Offers({"snowlease", "--server", "a:1", "leases", "li"}), "list\n");
  EXPECT_EQ(Offers({"snowlease", "-o", "y"}), "yaml\n");
  EXPECT_EQ(Offers({"snowlease", "claim", "--comeback", ""}), "move keep trust-clock\n");
  EXPECT_EQ(Offers({"snowlease", "completion", "f"}), "fish\n");
}

TEST(CompletionTest, ZshAndFishKnowEveryCommand) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = ScriptFor(shell);
    for (const char* word : {"claim", "watermark", "force-release", "unreserve", "keepalive",
                             "doctor", "trust-clock"}) {
      EXPECT_THAT(script, HasSubstr(word)) << shell;
    }
  }
  EXPECT_THAT(ScriptFor("zsh"), HasSubstr("#compdef snowlease\n"));
  EXPECT_THAT(ScriptFor("fish"),
              HasSubstr("complete -c snowlease -n '__fish_seen_subcommand_from namespaces; and not "
                        "__fish_seen_subcommand_from list get set delete' -f -a list"));
}

TEST(CompletionTest, FishTextIsQuoted) {
  const Command root{.name = "p",
                     .description = "",
                     .options = {{.names = {"--x", "-x"},
                                  .description = "it's",
                                  .takes_value = true,
                                  .choices = {}}},
                     .commands = {}};
  EXPECT_THAT(FishCompletion(root), HasSubstr("complete -c p -l x -s x -x -d 'it\\'s'\n"));
}

}  // namespace
}  // namespace snowlease::cli
