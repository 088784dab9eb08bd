#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "service/config/config_loader.h"
#include "service/config/settings.h"

namespace snowlease::service {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using storage::Millis;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ConfigTest : public testing::Test {
 protected:
  LoadedConfig Load(std::vector<std::string> arguments = {}) {
    inputs_.arguments = std::move(arguments);
    inputs_.read_file = [this](const std::string& path) -> std::optional<std::string> {
      const auto file = files_.find(path);
      if (file == files_.end()) return std::nullopt;
      return file->second;
    };
    return LoadConfig(inputs_);
  }

  std::vector<std::string> Problems(std::vector<std::string> arguments = {}) {
    std::vector<std::string> texts;
    for (const ConfigProblem& problem : Load(std::move(arguments)).problems) {
      texts.push_back(problem.ToString());
    }
    return texts;
  }

  ConfigInputs inputs_;
  std::map<std::string, std::string> files_;
};

TEST_F(ConfigTest, NothingGivenIsFitToStart) {
  const LoadedConfig loaded = Load();
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.store.url, "sqlite:./data/snowlease.db");
  EXPECT_EQ(loaded.config.grpc.listen, "127.0.0.1:7070");
  EXPECT_FALSE(loaded.config.admin.enabled);
}

TEST_F(ConfigTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  files_["s.yaml"] = "lease:\n  history: 3\n  quarantine: 1h\nlog: {level: warn}\n";
  inputs_.environment = {{"SNOWLEASE_LEASE_HISTORY", "4"}, {"SNOWLEASE_LOG_LEVEL", "error"}};
  const LoadedConfig loaded = Load({"--config=s.yaml", "--lease-history", "5"});
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.lease.history, 5);
  EXPECT_EQ(loaded.config.log.level, LogLevel::kError);
  EXPECT_EQ(loaded.config.lease.quarantine, Millis(1h));
  EXPECT_EQ(loaded.config.lease.max_clock_ahead, Millis(60s));
  EXPECT_EQ(loaded.sources.at("lease.history"), "flag --lease-history");
  EXPECT_EQ(loaded.sources.at("log.level"), "environment SNOWLEASE_LOG_LEVEL");
  EXPECT_EQ(loaded.sources.at("lease.quarantine"), "file s.yaml line 3");
}

TEST_F(ConfigTest, FileMayBeNamedByTheEnvironment) {
  files_["e.yaml"] = "admin.enabled: true\n";
  inputs_.environment = {{"SNOWLEASE_CONFIG", "e.yaml"}};
  EXPECT_TRUE(Load().config.admin.enabled);
}

TEST_F(ConfigTest, TellsAllProblemsAtOnceWithSourceAndFix) {
  files_["s.yaml"] = "store:\n  ulr: x\nbatching:\n  max-batch: [1, 2]\n";
  inputs_.environment = {{"SNOWLEASE_GRPC_LISTN", "x"}, {"SNOWLEASE_LEASE_HISTORY", "0"}};
  EXPECT_THAT(
      Problems({"--config", "s.yaml", "--drain-timeout=5", "--grpc-lsten=127.0.0.1:1", "stray"}),
      AllOf(testing::SizeIs(7),
            Contains(AllOf(HasSubstr("store.ulr (file s.yaml line 2)"), HasSubstr("store.url?"))),
            Contains(AllOf(HasSubstr("batching.max-batch"), HasSubstr("one value"))),
            Contains(AllOf(HasSubstr("SNOWLEASE_GRPC_LISTN (environment)"),
                           HasSubstr("SNOWLEASE_GRPC_LISTEN?"))),
            Contains(AllOf(HasSubstr("lease.history (environment SNOWLEASE_LEASE_HISTORY)"),
                           HasSubstr("1..1000"))),
            Contains(AllOf(HasSubstr("drain.timeout (flag --drain-timeout)"), HasSubstr("10s"))),
            Contains(AllOf(HasSubstr("--grpc-lsten"), HasSubstr("did you mean --grpc-listen?"))),
            Contains(HasSubstr("stray"))));
}

TEST_F(ConfigTest, EveryPositiveDurationOfZeroIsRefusedByName) {
  int refused = 0;
  for (const Setting& setting : Settings()) {
    if (!setting.type.starts_with("duration") || setting.type.starts_with("duration 0s")) continue;
    EXPECT_THAT(Problems({setting.Flag() + "=0s"}),
                Contains(AllOf(HasSubstr(setting.key + " (flag"), HasSubstr("must be positive"))))
        << setting.key;
    ++refused;
  }
  EXPECT_GE(refused, 10);
}

TEST_F(ConfigTest, EverySettingHasARangeThatIsEnforced) {
  for (const Setting& setting : Settings()) {
    if (setting.type == "text" || setting.type == "path" || setting.list) continue;
    EXPECT_THAT(Problems({setting.Flag() + "=no such value"}),
                Contains(HasSubstr(setting.key + " (flag " + setting.Flag() + ")")))
        << setting.key;
  }
  EXPECT_THAT(Problems({"--batching-max-batch=1025"}), Contains(HasSubstr("1..1024")));
  EXPECT_THAT(Problems({"--grpc-max-connection-age=25h", "--drain-delay=61m"}),
              ElementsAre(HasSubstr("drain.delay")));
  EXPECT_THAT(Problems({"--drain-timeout=999999999999999999h"}), Contains(HasSubstr("duration")));
}

TEST_F(ConfigTest, ValuesThatAreTheDefaultsAreAccepted) {
  std::vector<std::string> flags;
  for (const Setting& setting : Settings()) {
    if (setting.secret || setting.list || setting.get(Config())[0].empty()) continue;
    flags.push_back(setting.Flag() + "=" + setting.get(Config())[0]);
  }
  EXPECT_THAT(Problems(flags), IsEmpty());
}

TEST_F(ConfigTest, StoreUrlMustNameABuiltStore) {
  EXPECT_THAT(Problems({"--store-url=oracle://db/x"}), ElementsAre(HasSubstr("sqlite:PATH")));
  EXPECT_THAT(Problems({"--store-url=postgresql://db/x"}), IsEmpty());
  EXPECT_THAT(Problems({"--store-url=sqlite:"}), ElementsAre(HasSubstr("has no path")));
  EXPECT_THAT(Problems({"--store-url=memory:x"}), ElementsAre(HasSubstr("memory:")));
  EXPECT_THAT(Problems({"--store-url=memory:"}), IsEmpty());
}

TEST_F(ConfigTest, ImpossibleCombinationsAreRefused) {
  EXPECT_THAT(Problems({"--http-listen=0.0.0.0:7070"}),
              ElementsAre(AllOf(HasSubstr("http.listen (flag"), HasSubstr("grpc.listen"))));
  EXPECT_THAT(Problems({"--http-listen=127.0.0.1:7070", "--http-enabled=false"}), IsEmpty());
  EXPECT_THAT(Problems({"--http-listen=127.0.0.2:7070"}), IsEmpty());
  EXPECT_THAT(Problems({"--http-listen=127.0.0.1:0", "--grpc-listen=127.0.0.1:0"}), IsEmpty());
  EXPECT_THAT(Problems({"--batching-max-queue=100"}),
              ElementsAre(AllOf(HasSubstr("batching.max-queue"), HasSubstr("512"))));
  EXPECT_THAT(Problems({"--lease-quarantine=30s"}),
              ElementsAre(AllOf(HasSubstr("lease.quarantine"), HasSubstr("max-clock-ahead"))));
  EXPECT_THAT(Problems({"--store-user=x"}),
              ElementsAre(AllOf(HasSubstr("store.user"), HasSubstr("no effect"))));
}

TEST_F(ConfigTest, SwitchesNeedNoValue) {
  EXPECT_TRUE(Load({"--admin-enabled"}).config.admin.enabled);
  EXPECT_TRUE(Load({"--admin-enabled", "true"}).config.admin.enabled);
  EXPECT_FALSE(Load({"--grpc-reflection", "false"}).config.grpc.reflection);
  EXPECT_THAT(Problems({"--admin-enabled=yes"}), ElementsAre(HasSubstr("true or false")));
  EXPECT_THAT(Problems({"--grpc-listen"}), ElementsAre(HasSubstr("needs a value")));
}

TEST_F(ConfigTest, FlagsGivenTwiceAreRefusedButListsGrow) {
  EXPECT_THAT(Problems({"--lease-history=1", "--lease-history=2"}),
              ElementsAre(HasSubstr("twice")));
  inputs_.environment = {{"SNOWLEASE_METRICS_NAMESPACES", "z"}};
  EXPECT_THAT(
      Load({"--metrics-namespaces=a, b", "--metrics-namespaces=c"}).config.metrics.namespaces,
      ElementsAre("a", "b", "c"));
}

TEST_F(ConfigTest, ListsComeFromYamlAsTheyAre) {
  files_["s.yaml"] = "metrics:\n  namespaces: ['a,b', c]\nnamespaces: {create: []}\n";
  const LoadedConfig loaded = Load({"--config=s.yaml"});
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_THAT(loaded.config.metrics.namespaces, ElementsAre("a,b", "c"));
  EXPECT_THAT(loaded.config.namespaces.create, IsEmpty());
}

TEST_F(ConfigTest, BrokenFilesAreToldWithTheLine) {
  files_["a"] = "store:\n  url: x: y\n";
  files_["b"] = "- a\n";
  files_["c"] = "lease:\n  history: 1\n  history: 2\n";
  files_["d"] = "";
  files_["e"] = "store:\n  url:\n";
  EXPECT_THAT(Problems({"--config=a"}), ElementsAre(HasSubstr("line 2 (file a)")));
  EXPECT_THAT(Problems({"--config=b"}), ElementsAre(HasSubstr("no map")));
  EXPECT_THAT(Problems({"--config=c"}), ElementsAre(HasSubstr("set twice")));
  EXPECT_THAT(Problems({"--config=d"}), IsEmpty());
  EXPECT_THAT(Problems({"--config=e"}), ElementsAre(HasSubstr("has no value")));
  EXPECT_THAT(Problems({"--config=none"}), ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(ConfigTest, VariablesOfKubernetesAndOfTheCommandLineAreNoSettings) {
  inputs_.environment = {{"SNOWLEASE_SERVICE_HOST", "10.0.0.1"},
                         {"SNOWLEASE_SERVICE_PORT_GRPC", "7070"},
                         {"SNOWLEASE_PORT", "tcp://10.0.0.1:7070"},
                         {"SNOWLEASE_PORT_7070_TCP_ADDR", "10.0.0.1"},
                         {"SNOWLEASE_HTTP_PORT", "tcp://10.0.0.1:7071"},
                         {"SNOWLEASE_SERVER", "127.0.0.1:7070"},
                         {"SNOWLEASE_TLS", "true"},
                         {"SNOWLEASE_CA_FILE", "ca.pem"},
                         {"PATH", "/bin"}};
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(ConfigTest, TlsNeedsBothFiles) {
  EXPECT_THAT(Problems({"--grpc-tls-cert-file=a", "--grpc-tls-key-file=b"}), IsEmpty());
  EXPECT_THAT(Problems({"--grpc-tls-cert-file=a"}),
              ElementsAre(AllOf(HasSubstr("grpc.tls.cert-file"), HasSubstr("grpc.tls.key-file"))));
  EXPECT_THAT(Problems({"--grpc-tls-key-file=b"}), ElementsAre(HasSubstr("no effect")));
  EXPECT_THAT(Problems({"--grpc-tls-client-ca-file=c"}), ElementsAre(HasSubstr("no effect")));
  files_["s.yaml"] = "grpc:\n  tls:\n    cert-file: a\n    key-file: b\n";
  EXPECT_TRUE(Load({"--config=s.yaml"}).config.grpc.tls.enabled());
}

TEST_F(ConfigTest, SecretsAreNeverFlagsAndNeverShown) {
  EXPECT_THAT(Problems({"--store-password=hunter2"}),
              ElementsAre(AllOf(HasSubstr("SNOWLEASE_STORE_PASSWORD"), Not(HasSubstr("hunter2")))));
  inputs_.environment = {{"SNOWLEASE_STORE_PASSWORD", "hunter2"}};
  const LoadedConfig loaded = Load({"--store-url=postgresql://u:hunter3@db/x"});
  EXPECT_THAT(PrintedConfig(loaded), AllOf(Not(HasSubstr("hunter")), HasSubstr("not shown"),
                                           HasSubstr("environment SNOWLEASE_STORE_PASSWORD")));
  EXPECT_THAT(loaded.warnings, Contains(HasSubstr("--store-password-file")));
}

TEST_F(ConfigTest, SecretsMayComeFromAFile) {
  files_["/secret"] = "hun ter\n";
  files_["/empty"] = "\n";
  inputs_.environment = {{"SNOWLEASE_STORE_PASSWORD_FILE", "/secret"}};
  EXPECT_EQ(Load().config.store.password, "hun ter");
  EXPECT_THAT(Problems({"--store-password-file=/none"}), Contains(HasSubstr("cannot be read")));
  EXPECT_THAT(Problems({"--store-password-file=/empty"}), Contains(HasSubstr("is empty")));
  inputs_.environment["SNOWLEASE_STORE_PASSWORD"] = "other";
  EXPECT_THAT(Problems(), Contains(HasSubstr("together with store.password")));
}

TEST_F(ConfigTest, AccountReplacesTheOneInTheUrl) {
  Config config;
  config.store.url = "postgresql://old:pw@db:5432/x?opt=a@b";
  EXPECT_EQ(config.StoreUrl(), config.store.url);
  config.store.password = "p@ss/1";
  EXPECT_EQ(config.StoreUrl(), "postgresql://old:p%40ss%2F1@db:5432/x?opt=a@b");
  config.store.user = "new";
  EXPECT_EQ(config.StoreUrl(), "postgresql://new:p%40ss%2F1@db:5432/x?opt=a@b");
  config.store.url = "postgresql://db/x";
  EXPECT_EQ(config.StoreUrl(), "postgresql://new:p%40ss%2F1@db/x");
}

TEST_F(ConfigTest, StoresThatReadThePasswordFileThemselvesAreGivenItsName) {
  Config config;
  config.store.url = "mysql://old:pw@db:3306/x?tls=verify";
  config.store.password_file = "/run/secrets/db pass";
  config.store.password = "as it was at the start";
  EXPECT_EQ(config.StoreUrl(),
            "mysql://old@db:3306/x?tls=verify&password_file=%2Frun%2Fsecrets%2Fdb%20pass");
  config.store.url = "mariadb://db/x";
  config.store.user = "new";
  EXPECT_EQ(config.StoreUrl(), "mariadb://new@db/x?password_file=%2Frun%2Fsecrets%2Fdb%20pass");
}

TEST_F(ConfigTest, PrintedConfigReadsBackTheSame) {
  const std::vector<std::string> flags = {"--lease-quarantine=90m", "--metrics-namespaces=a,b",
                                          "--namespaces-create=", "--store-url=sqlite:/x \"y\".db"};
  const LoadedConfig first = Load(flags);
  files_["p.yaml"] = PrintedConfig(first);
  LoadedConfig second = Load({"--config=p.yaml"});
  // Settings that are empty read back as empty ones.
  EXPECT_THAT(second.problems, IsEmpty());
  for (const Setting& setting : Settings()) {
    EXPECT_EQ(setting.get(first.config), setting.get(second.config)) << setting.key;
  }
}

TEST_F(ConfigTest, RequestsAreRecognised) {
  EXPECT_EQ(Load({"--print-config"}).request, ConfigRequest::kPrintConfig);
  EXPECT_EQ(Load({"--check-config"}).request, ConfigRequest::kCheckConfig);
  EXPECT_EQ(Load({"-h"}).request, ConfigRequest::kHelp);
  EXPECT_EQ(Load({"--version"}).request, ConfigRequest::kVersion);
}

TEST_F(ConfigTest, HelpNamesEverySetting) {
  for (const Setting& setting : Settings()) {
    EXPECT_THAT(HelpText(), HasSubstr(setting.secret ? setting.Variable() : setting.Flag()));
    EXPECT_THAT(HelpText(), HasSubstr(setting.doc));
  }
}

TEST_F(ConfigTest, EverySettingIsDocumentedWithItsDefault) {
  std::ifstream file(SNOWLEASE_SOURCE_DIR "/docs/operations.md");
  std::stringstream docs;
  docs << file.rdbuf();
  for (const Setting& setting : Settings()) {
    const std::vector<std::string> items = setting.get(Config());
    const std::string value = items.empty() || items[0].empty() ? "" : "`" + items[0] + "`";
    EXPECT_THAT(docs.str(), HasSubstr("| `" + setting.key + "` | " + value)) << setting.key;
  }
}

TEST(ValuesTest, DurationsAreReadAndWritten) {
  std::string fix;
  EXPECT_EQ(ParseDuration("500ms", &fix), Millis(500));
  EXPECT_EQ(ParseDuration("1h30m", &fix), Millis(90 * 60'000));
  EXPECT_EQ(ParseDuration("0", &fix), Millis(0));
  for (const char* bad : {"", "5", "s", "-5s", "5 s", "1.5s", "5d", "9223372036854775807h"}) {
    EXPECT_FALSE(ParseDuration(bad, &fix)) << bad;
  }
  EXPECT_EQ(FormatDuration(90'061'001ms), "25h1m1s1ms");
  EXPECT_EQ(FormatDuration(0ms), "0s");
}

TEST(ValuesTest, AddressesAreReadAndWritten) {
  std::string fix;
  EXPECT_EQ(ParseListenAddress("[::1]:7070", &fix)->host, "::1");
  EXPECT_EQ(ParseListenAddress("[::1]:7070", &fix)->ToString(), "[::1]:7070");
  EXPECT_TRUE(ParseListenAddress("[::]:7070", &fix)->IsWildcard());
  EXPECT_TRUE(ParseListenAddress("localhost:0", &fix)->IsLoopback());
  EXPECT_FALSE(ParseListenAddress("10.0.0.1:1", &fix)->IsLoopback());
  for (const char* bad :
       {"", ":1", "a", "a:", "a:70000", "a:-1", "::1:7070", "[::1]", "[a]:1", "http://a:1"}) {
    EXPECT_FALSE(ParseListenAddress(bad, &fix)) << bad;
  }
}

}  // namespace
}  // namespace snowlease::service
