#include "client/cli/cli.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/cli/admin_commands.h"
#include "client/cli/arguments.h"
#include "client/cli/bench/bench_command.h"
#include "client/cli/completion.h"
#include "client/cli/decode_command.h"
#include "client/cli/doctor_command.h"
#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"
#include "client/cli/lease_commands.h"
#include "client/cli/output.h"

namespace snowlease::cli {
namespace {

constexpr uint64_t kLargestMachineId = (1u << 30) - 1;
constexpr char kFooter[] =
    "Exit codes: 0 done, 1 error, 2 wrong usage, 3 the lease is lost, 75 try again later.\n"
    "Environment: SNOWLEASE_SERVER, SNOWLEASE_TLS, SNOWLEASE_CA_FILE, SNOWLEASE_SERVER_NAME,\n"
    "SNOWLEASE_CERT_FILE, SNOWLEASE_KEY_FILE, NO_COLOR.";

using Run = std::function<int(Console&, const GlobalOptions&)>;

// The parser, and what it found. CLI11's exceptions stay in this file.
class CommandLine {
 public:
  CommandLine();
  int Main(const std::vector<std::string>& arguments, Console& console);

 private:
  // A command whose options live in `options` until it has run.
  template <typename Options>
  CLI::App* Add(CLI::App& parent, const std::string& name, const std::string& help,
                std::shared_ptr<Options> options,
                int (*run)(Console&, const GlobalOptions&, const Options&)) {
    CLI::App* command = parent.add_subcommand(name, help);
    command->callback([this, options, run] {
      run_ = [options, run](Console& console, const GlobalOptions& global) {
        return run(console, global, *options);
      };
    });
    return command;
  }

  // An option whose text `parse` reads; its error is a usage error.
  template <typename Target, typename Parse>
  CLI::Option* Parsed(CLI::App* command, const std::string& names, Target* target, Parse parse,
                      const std::string& type, const std::string& help) {
    return command
        ->add_option_function<std::string>(
            names,
            [target, parse, names](const std::string& text) {
              const auto value = parse(text);
              if (!value.ok()) {
                throw CLI::ValidationError(names, std::string(value.status().message()));
              }
              *target = static_cast<typename std::decay_t<decltype(value)>::value_type>(*value);
            },
            help)
        ->type_name(type);
  }

  template <typename Target>
  CLI::Option* Number(CLI::App* command, const std::string& names, Target* target, uint64_t least,
                      uint64_t most, const std::string& help) {
    return Parsed(
        command, names, target,
        [least, most](const std::string& text) { return ParseNumber(text, least, most); },
        absl::StrCat(least, "..", most), help);
  }

  template <typename Target>
  CLI::Option* Duration(CLI::App* command, const std::string& names, Target* target,
                        const std::string& help) {
    return Parsed(command, names, target, ParseDuration, "DURATION", help);
  }

  CLI::Option* Choice(CLI::App* command, const std::string& names, std::string* target,
                      const std::vector<std::string>& choices, const std::string& help);
  CLI::Option* Text(CLI::App* command, const std::string& names, std::string* target,
                    const std::string& type, const std::string& help);
  void Namespace(CLI::App* command, std::string* target);
  void Reason(CLI::App* command, std::string* target);
  void Grant(CLI::App* command, GrantOptions* grant, bool grant_required);
  void LayoutOf(CLI::App* command, LayoutOptions* layout);

  void AddGlobals();
  void AddTls();
  // What cannot be; empty: fine.
  std::string ProblemOfTls() const;
  void AddClaim();
  void AddGrantCommands();
  void AddNamespaces();
  void AddLeases();
  void AddForceRelease(CLI::App& leases);
  void AddReservations(CLI::App& leases);
  void AddDecoding();
  void AddBench();
  void AddOthers();

  Command Tree(const CLI::App& app) const;
  CommandOption OptionOf(const CLI::Option& option) const;

  CLI::App app_{"Claims, renews and releases leases of machine ids.", "snowlease"};
  GlobalOptions global_;
  std::string output_ = "table";
  Run run_;
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
};

CommandLine::CommandLine() {
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.footer(kFooter);
  app_.set_version_flag("--version", absl::StrCat("snowlease ", SNOWLEASE_VERSION));
  AddGlobals();
  AddClaim();
  AddGrantCommands();
  AddNamespaces();
  AddLeases();
  AddDecoding();
  AddBench();
  AddOthers();
}

CLI::Option* CommandLine::Choice(CLI::App* command, const std::string& names, std::string* target,
                                 const std::vector<std::string>& choices, const std::string& help) {
  CLI::Option* option = command->add_option(names, *target, help)->check(CLI::IsMember(choices));
  choices_[option] = choices;
  return option;
}

CLI::Option* CommandLine::Text(CLI::App* command, const std::string& names, std::string* target,
                               const std::string& type, const std::string& help) {
  return command->add_option(names, *target, help)->type_name(type);
}

void CommandLine::Namespace(CLI::App* command, std::string* target) {
  Text(command, "-n,--namespace", target, "NAME", "Scope of the machine ids")->required();
}

void CommandLine::Reason(CLI::App* command, std::string* target) {
  Text(command, "--reason", target, "TEXT", "Why, for the audit")->required();
}

void CommandLine::Grant(CLI::App* command, GrantOptions* grant, bool grant_required) {
  Namespace(command, &grant->name_space);
  Number(command, "-m,--machine-id", &grant->machine_id, 0, kLargestMachineId, "The machine id")
      ->required();
  Text(command, "-i,--instance,--instance-id", &grant->instance, "ID", "Holder of the lease")
      ->required(grant_required);
  Number(command, "-t,--token", &grant->token, 1, std::numeric_limits<uint64_t>::max(),
         "Token of the grant, as claim printed it")
      ->required(grant_required);
}

void CommandLine::LayoutOf(CLI::App* command, LayoutOptions* layout) {
  Choice(command, "--layout", &layout->layout,
         {"snowflake-ms", "snowflake-s", "safe-js-ms", "safe-js-s", "radix62"},
         "How the id is laid out")
      ->capture_default_str();
  Parsed(
      command, "--epoch", &layout->epoch_ms,
      [](const std::string& text) { return ParseNumber(text, 0, 1ull << 62); }, "MS",
      "Epoch of the layout, ms since 1970");
  Text(command, "--bits", &layout->bits, "T/M/S",
       "Timestamp, machine and sequence bits, e.g. 41/10/12");
}

void CommandLine::AddGlobals() {
  Text(&app_, "-s,--server", &global_.server, "HOST:PORT", "Server to ask")
      ->envname("SNOWLEASE_SERVER")
      ->capture_default_str();
  Choice(&app_, "-o,--output", &output_, {"table", "json", "yaml"}, "Format of the data on stdout")
      ->capture_default_str();
  app_.add_flag("--no-headers", global_.no_headers, "Tables without their first line");
  Parsed(
      &app_, "--timeout", &global_.timeout_ms,
      [](const std::string& text) -> absl::StatusOr<int64_t> {
        const auto duration = ParseDuration(text);
        if (duration.ok() && *duration == 0) {
          return absl::InvalidArgumentError("a timeout is longer than 0");
        }
        return duration;
      },
      "DURATION", "Longest time for a call with all its retries [10s]");
  AddTls();
}

void CommandLine::AddTls() {
  app_.add_flag("--tls", global_.tls, "Connect with TLS")->envname("SNOWLEASE_TLS");
  Text(&app_, "--ca-file", &global_.ca_file, "PATH",
       "Who may sign the server's certificate, PEM [whom this host trusts]")
      ->envname("SNOWLEASE_CA_FILE");
  Text(&app_, "--server-name", &global_.server_name, "NAME",
       "Name in the server's certificate [the host of --server]")
      ->envname("SNOWLEASE_SERVER_NAME");
  Text(&app_, "--cert-file", &global_.cert_file, "PATH",
       "Own certificate, PEM, for servers that ask for one")
      ->envname("SNOWLEASE_CERT_FILE");
  Text(&app_, "--key-file", &global_.key_file, "PATH", "Its private key, PEM")
      ->envname("SNOWLEASE_KEY_FILE");
}

std::string CommandLine::ProblemOfTls() const {
  if (global_.tls && global_.cert_file.empty() != global_.key_file.empty()) {
    return "--cert-file and --key-file belong together\n  fix: give both or none";
  }
  if (global_.tls) return {};
  for (const auto& [name, value] :
       {std::pair("--ca-file", &global_.ca_file), std::pair("--server-name", &global_.server_name),
        std::pair("--cert-file", &global_.cert_file), std::pair("--key-file", &global_.key_file)}) {
    if (!value->empty()) {
      return absl::StrCat(name,
                          " has no effect without --tls\n  fix: add --tls or SNOWLEASE_TLS=true");
    }
  }
  return {};
}

void CommandLine::AddClaim() {
  auto options = std::make_shared<ClaimOptions>();
  CLI::App* claim = Add(app_, "claim", "Claim a machine id", options, RunClaim);
  Text(claim, "-n,--namespace,namespace", &options->name_space, "NAME", "Scope of the machine ids")
      ->required();
  Text(claim, "-i,--instance,--instance-id", &options->instance, "ID",
       "Who claims, unique in the namespace [host:pid:random]");
  Number(claim, "-b,--bits", &options->bits, 1, 30, "Size of the machine id in bits [10]");
  claim->add_flag("--stable", options->stable,
                  "The instance comes back: its machine id is never taken over");
  Duration(claim, "--safe-guard", &options->safe_guard_ms,
           "Time without renewal after which the lease may be taken over; 0: never [5m]");
  Duration(claim, "--window", &options->window_ms,
           "Length of the window [safe guard less its margin]");
  Duration(claim, "--max-wait", &options->max_wait_ms,
           "How long you would wait for the clock to pass the floor [500ms]");
  Choice(claim, "--comeback", &options->comeback, {"move", "keep", "trust-clock"},
         "When the instance's earlier lease is still open [move, of stable ones keep]");
  claim->add_option("--metadata", options->metadata, "For people: key=value, any number of them")
      ->type_name("KEY=VALUE");
}

void CommandLine::AddGrantCommands() {
  auto renewal = std::make_shared<RenewOptions>();
  CLI::App* renew = Add(app_, "renew", "Renew a lease", renewal, RunRenew);
  Grant(renew, &renewal->grant, true);
  Text(renew, "--last-timestamp", &renewal->last_timestamp, "MS|now",
       "Highest timestamp issued so far [none]");

  auto end = std::make_shared<ReleaseOptions>();
  CLI::App* release = Add(app_, "release", "Give a lease back", end, RunRelease);
  Grant(release, &end->grant, true);
  Text(release, "--last-timestamp", &end->last_timestamp, "MS|now|none",
       "Highest timestamp issued [unknown: the next holder starts above the whole window]");
  release->add_flag("--abandon", end->abandon, "No id was issued, not even of a stable instance");

  auto mark = std::make_shared<WatermarkOptions>();
  CLI::App* watermark =
      Add(app_, "watermark", "Read the watermark of a machine id, or raise it", mark, RunWatermark);
  Grant(watermark, &mark->grant, false);
  Text(watermark, "--raise-to", &mark->raise_to, "MS|now", "New watermark of a held lease");
}

struct ListNamespacesOptions {
  uint64_t limit = 0;
};

struct NameOptions {
  std::string name;
};

void CommandLine::AddNamespaces() {
  CLI::App& namespaces = *app_.add_subcommand("namespaces", "See and change namespaces (admin)");
  namespaces.require_subcommand(1);

  auto listing = std::make_shared<ListNamespacesOptions>();
  CLI::App* list = Add<ListNamespacesOptions>(
      namespaces, "list", "List namespaces", listing,
      [](Console& console, const GlobalOptions& global, const ListNamespacesOptions& options) {
        return RunListNamespaces(console, global, options.limit);
      });
  Number(list, "--limit", &listing->limit, 1, 1'000'000'000, "Most to list [all]");

  auto one = std::make_shared<NameOptions>();
  CLI::App* get = Add<NameOptions>(
      namespaces, "get", "Show how full a namespace is", one,
      [](Console& console, const GlobalOptions& global, const NameOptions& options) {
        return RunGetNamespace(console, global, options.name);
      });
  Text(get, "name", &one->name, "NAME", "The namespace")->required();

  auto change = std::make_shared<SetNamespaceOptions>();
  CLI::App* set = Add(namespaces, "set", "Change a namespace", change, RunSetNamespace);
  Text(set, "name", &change->name, "NAME", "The namespace")->required();
  Number(set, "-b,--bits", &change->bits, 1, 30, "New size in bits; it can only grow");
  Text(set, "--pin-safe-guard", &change->pin_safe_guard, "DURATION|none",
       "Claims must ask for this safe guard duration");
  set->add_flag_callback(
      "--allow-trust-clock", [change] { change->allow_trust_clock = true; },
      "Allow comebacks that trust the clock, outside the promise");
  set->add_flag_callback(
      "--forbid-trust-clock", [change] { change->allow_trust_clock = false; }, "Forbid them");
  Text(set, "--lease-cap", &change->lease_cap, "N|none", "Most leases at a time");
  set->add_flag("--create", change->create, "Create the namespace when there is none");
  Reason(set, &change->reason);

  auto removal = std::make_shared<DeleteNamespaceOptions>();
  CLI::App* remove =
      Add(namespaces, "delete", "Delete an empty namespace", removal, RunDeleteNamespace);
  Text(remove, "name", &removal->name, "NAME", "The namespace")->required();
  Reason(remove, &removal->reason);
  remove->add_flag("-y,--yes", removal->yes, "Do not ask");
}

struct GetLeaseOptions {
  std::string name_space;
  uint32_t machine_id = 0;
};

void CommandLine::AddLeases() {
  CLI::App& leases = *app_.add_subcommand("leases", "See and change leases (admin)");
  leases.require_subcommand(1);

  auto listing = std::make_shared<ListLeasesOptions>();
  CLI::App* list = Add(leases, "list", "List machine ids", listing, RunListLeases);
  Namespace(list, &listing->name_space);
  Choice(list, "--state", &listing->state, {"free", "held", "kept", "reserved"},
         "Only those in this state");
  Text(list, "--instance-prefix", &listing->instance_prefix, "TEXT",
       "Only instances whose id begins so");
  Number(list, "--limit", &listing->limit, 1, 1'000'000'000, "Most to list [all]");

  auto one = std::make_shared<GetLeaseOptions>();
  CLI::App* get = Add<GetLeaseOptions>(
      leases, "get", "Show a machine id and its last grants", one,
      [](Console& console, const GlobalOptions& global, const GetLeaseOptions& options) {
        return RunGetLease(console, global, options.name_space, options.machine_id);
      });
  Namespace(get, &one->name_space);
  Number(get, "machine-id", &one->machine_id, 0, kLargestMachineId, "The machine id")->required();
  AddForceRelease(leases);
  AddReservations(leases);
}

void CommandLine::AddForceRelease(CLI::App& leases) {
  auto options = std::make_shared<ForceReleaseOptions>();
  CLI::App* force =
      Add(leases, "force-release", "End a grant from outside", options, RunForceRelease);
  Namespace(force, &options->name_space);
  Number(force, "machine-id", &options->machine_id, 0, kLargestMachineId, "The machine id")
      ->required();
  Number(force, "-t,--token", &options->token, 1, std::numeric_limits<uint64_t>::max(),
         "Token of the grant to end, as leases get shows it")
      ->required();
  Duration(force, "--quarantine", &options->quarantine_ms,
           "How long the id of a lease that never expires rests [the server's]");
  Reason(force, &options->reason);
  force->add_flag("-y,--yes", options->yes, "Do not ask");
}

void CommandLine::AddReservations(CLI::App& leases) {
  auto taken = std::make_shared<ReserveOptions>();
  CLI::App* reserve =
      Add(leases, "reserve", "Take free machine ids out of service", taken, RunReserve);
  auto given = std::make_shared<ReserveOptions>();
  CLI::App* unreserve =
      Add(leases, "unreserve", "Put reserved machine ids back", given, RunUnreserve);
  for (const auto& [command, options] :
       {std::pair(reserve, taken.get()), std::pair(unreserve, given.get())}) {
    Namespace(command, &options->name_space);
    command->add_option("machine-ids", options->machine_ids, "Machine ids and ranges: 3 7 10-19")
        ->type_name("ID...")
        ->required();
    Reason(command, &options->reason);
  }
  Text(unreserve, "--floor", &given->floor, "MS|now",
       "No timestamp above this was issued under them [the server's clock and allowance]");
}

struct IdOptions {
  LayoutOptions layout;
  std::string name_space;
  std::string id;
};

void CommandLine::AddDecoding() {
  auto plain = std::make_shared<IdOptions>();
  CLI::App* decode =
      Add<IdOptions>(app_, "decode", "Take an id, or its friendly form, apart", plain,
                     [](Console& console, const GlobalOptions& global, const IdOptions& options) {
                       return RunDecode(console, global, options.layout, options.id);
                     });
  auto owned = std::make_shared<IdOptions>();
  CLI::App* owner = Add<IdOptions>(
      app_, "owner", "Find who made an id (admin)", owned,
      [](Console& console, const GlobalOptions& global, const IdOptions& options) {
        return RunOwner(console, global, options.layout, options.name_space, options.id);
      });
  for (const auto& [command, options] :
       {std::pair(decode, plain.get()), std::pair(owner, owned.get())}) {
    Text(command, "id", &options->id, "ID", "The id")->required();
    LayoutOf(command, &options->layout);
  }
  Namespace(owner, &owned->name_space);
}

void CommandLine::AddBench() {
  CLI::App& bench = *app_.add_subcommand("bench", "Put load on a server and measure it");
  bench.require_subcommand(1);
  const std::vector<std::tuple<std::string, BenchLoad, std::string>> loads = {
      {"renew", BenchLoad::kRenew, "Unary renewals"},
      {"keepalive", BenchLoad::kKeepAlive, "Renewals over streams"},
      {"claim", BenchLoad::kClaim, "Claims; what they took is released in between"}};
  for (const auto& [name, load, help] : loads) {
    auto options = std::make_shared<BenchOptions>();
    options->load = load;
    CLI::App* command = Add(bench, name, help, options, RunBench);
    Text(command, "-n,--namespace", &options->name_space, "NAME", "Namespace to work in")
        ->capture_default_str();
    Number(command, "-b,--bits", &options->bits, 1, 30, "Size of its machine ids in bits [20]");
    Number(command, "--outstanding", &options->outstanding, 1, 100'000,
           "Calls or renewals that wait for an answer at any time [512]");
    Number(command, "--channels", &options->channels, 1, 10'000, "Connections [4]");
    Number(command, "--leases", &options->leases, 1, 10'000'000, "Leases to work with [10000]");
    Duration(command, "--duration", &options->duration_ms, "How long to measure [10s]");
    if (load != BenchLoad::kClaim) {
      Duration(command, "--warmup", &options->warmup_ms, "Load before measuring [1s]");
    }
    if (load == BenchLoad::kKeepAlive) {
      Number(command, "--messages", &options->renewals_per_message, 1, 1024,
             "Renewals in one message [16]");
    }
  }
}

struct ShellOptions {
  std::string shell;
};

void CommandLine::AddOthers() {
  auto doctor_options = std::make_shared<DoctorOptions>();
  CLI::App* doctor =
      Add(app_, "doctor", "Examine the server and both clocks", doctor_options, RunDoctor);
  Text(doctor, "-n,--namespace", &doctor_options->name_space, "NAME",
       "Where to claim and release a lease to prove that the store works")
      ->capture_default_str();
  doctor->add_flag("--no-claim", doctor_options->no_claim, "Change nothing in the store");

  auto shell = std::make_shared<ShellOptions>();
  CLI::App* completion = app_.add_subcommand("completion", "Print completions for a shell");
  Choice(completion, "shell", &shell->shell, {"bash", "zsh", "fish"}, "The shell")->required();
  completion->callback([this, shell] {
    run_ = [this, shell](Console& console, const GlobalOptions&) {
      const Command tree = Tree(app_);
      console.out << (shell->shell == "bash"  ? BashCompletion(tree)
                      : shell->shell == "zsh" ? ZshCompletion(tree)
                                              : FishCompletion(tree));
      return kExitOk;
    };
  });

  app_.add_subcommand("version", "Print the version")->callback([this] {
    run_ = [](Console& console, const GlobalOptions& global) {
      Table table({"PROGRAM", "VERSION"});
      table.Add({"snowlease", SNOWLEASE_VERSION});
      Print(console, global, JsonObject().Text("version", SNOWLEASE_VERSION).Json(), table);
      return kExitOk;
    };
  });
}

CommandOption CommandLine::OptionOf(const CLI::Option& option) const {
  CommandOption described;
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  described.description = option.get_description();
  described.takes_value = option.get_items_expected_max() > 0;
  const auto choices = choices_.find(&option);
  if (choices != choices_.end()) described.choices = choices->second;
  return described;
}

Command CommandLine::Tree(const CLI::App& app) const {
  Command command{
      .name = app.get_name(), .description = app.get_description(), .options = {}, .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    CommandOption described = OptionOf(*option);
    // Values of arguments without a dash are completed like commands.
    if (described.names.empty()) {
      for (const std::string& choice : described.choices) {
        command.commands.push_back(
            {.name = choice, .description = "", .options = {}, .commands = {}});
      }
    } else {
      command.options.push_back(std::move(described));
    }
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(Tree(*child));
  }
  return command;
}

int CommandLine::Main(const std::vector<std::string>& arguments, Console& console) {
  try {
    // CLI11 takes them from the back.
    app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& success) {
    return app_.exit(success, console.out, console.err);
  } catch (const CLI::ParseError& error) {
    // Of an unknown word CLI11 says only what else is missing.
    const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
    const std::string what =
        unknown.empty() ? error.what() : absl::StrCat("'", unknown.front(), "' is not known here");
    return FailUsage(console, absl::StrCat(what,
                                           "\n  fix: see snowlease --help, or --help behind "
                                           "the command"));
  }
  global_.output = output_ == "json"   ? OutputFormat::kJson
                   : output_ == "yaml" ? OutputFormat::kYaml
                                       : OutputFormat::kTable;
  if (const std::string problem = ProblemOfTls(); !problem.empty()) {
    return FailUsage(console, problem);
  }
  return run_(console, global_);
}

}  // namespace

int RunCli(const std::vector<std::string>& arguments, Console& console) {
  return CommandLine().Main(arguments, console);
}

}  // namespace snowlease::cli
