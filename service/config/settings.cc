#include "service/config/settings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace snowlease::service {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using storage::Millis;

using Fault = std::optional<std::string>;
using Items = std::vector<std::string>;
template <typename T>
using Access = T& (*)(Config&);

// A getter may use the same accessor: it changes nothing.
template <typename T>
const T& Read(Access<T> access, const Config& config) {
  return access(const_cast<Config&>(config));
}

std::string Quoted(const Items& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return "\"" + text + "\"";
}

Setting Named(std::string key, std::string type, std::string doc) {
  Setting setting;
  setting.key = std::move(key);
  setting.type = std::move(type);
  setting.doc = std::move(doc);
  return setting;
}

Fault NoFault(const Config&) { return std::nullopt; }

Setting Text(std::string key, std::string type, Access<std::string> access,
             std::function<Fault(const std::string&)> check, std::string doc) {
  Setting setting = Named(std::move(key), std::move(type), std::move(doc));
  setting.set = [access](Config& config, const Items& items) -> Fault {
    access(config) = items[0];
    return std::nullopt;
  };
  setting.check = [access, check](const Config& config) { return check(Read(access, config)); };
  setting.get = [access](const Config& config) { return Items{Read(access, config)}; };
  return setting;
}

Setting Secret(std::string key, Access<std::string> access, std::string doc) {
  Setting setting = Text(
      std::move(key), "text", access, [](const std::string&) { return Fault(); }, std::move(doc));
  setting.secret = true;
  return setting;
}

Setting List(std::string key, Access<Items> access, std::function<Fault(const Items&)> check,
             std::string doc) {
  Setting setting = Named(std::move(key), "list", std::move(doc));
  setting.list = true;
  setting.set = [access](Config& config, const Items& items) -> Fault {
    access(config) = items;
    return std::nullopt;
  };
  setting.check = [access, check](const Config& config) { return check(Read(access, config)); };
  setting.get = [access](const Config& config) { return Read(access, config); };
  return setting;
}

Setting Switch(std::string key, Access<bool> access, std::string doc) {
  Setting setting = Named(std::move(key), "true|false", std::move(doc));
  setting.is_switch = true;
  setting.set = [access](Config& config, const Items& items) -> Fault {
    std::string fix;
    const std::optional<bool> value = ParseBool(items[0], &fix);
    if (!value) return Quoted(items) + " is neither true nor false; " + fix;
    access(config) = *value;
    return std::nullopt;
  };
  setting.check = NoFault;
  setting.get = [access](const Config& config) {
    return Items{Read(access, config) ? "true" : "false"};
  };
  return setting;
}

Setting Duration(std::string key, Access<Millis> access, Millis min, Millis max, std::string doc) {
  const std::string range = FormatDuration(min) + ".." + FormatDuration(max);
  Setting setting = Named(std::move(key), "duration " + range, std::move(doc));
  setting.set = [access](Config& config, const Items& items) -> Fault {
    std::string fix;
    const std::optional<Millis> value = ParseDuration(items[0], &fix);
    if (!value) return Quoted(items) + " is not a duration; " + fix;
    access(config) = *value;
    return std::nullopt;
  };
  setting.check = [access, min, max, range](const Config& config) -> Fault {
    const Millis value = Read(access, config);
    if (value == 0ms && min > 0ms) return "must be positive; use a duration in " + range;
    if (value < min || value > max) {
      return FormatDuration(value) + " is out of range; use a duration in " + range;
    }
    return std::nullopt;
  };
  setting.get = [access](const Config& config) {
    return Items{FormatDuration(Read(access, config))};
  };
  return setting;
}

Setting Number(std::string key, Access<int64_t> access, int64_t min, int64_t max, std::string doc) {
  const std::string range = std::to_string(min) + ".." + std::to_string(max);
  Setting setting = Named(std::move(key), "number " + range, std::move(doc));
  setting.set = [access](Config& config, const Items& items) -> Fault {
    std::string fix;
    const std::optional<int64_t> value = ParseInteger(items[0], &fix);
    if (!value) return Quoted(items) + " is not a number; " + fix;
    access(config) = *value;
    return std::nullopt;
  };
  setting.check = [access, min, max, range](const Config& config) -> Fault {
    const int64_t value = Read(access, config);
    if (value >= min && value <= max) return std::nullopt;
    return std::to_string(value) + " is out of range; use a number in " + range;
  };
  setting.get = [access](const Config& config) {
    return Items{std::to_string(Read(access, config))};
  };
  return setting;
}

template <typename Enum, size_t N>
Setting Choice(std::string key, Access<Enum> access,
               std::array<std::pair<const char*, Enum>, N> choices, std::string doc) {
  std::string type;
  for (const auto& [name, value] : choices) type += (type.empty() ? "" : "|") + std::string(name);
  Setting setting = Named(std::move(key), type, std::move(doc));
  setting.set = [access, choices, type](Config& config, const Items& items) -> Fault {
    for (const auto& [name, value] : choices) {
      if (items[0] != name) continue;
      access(config) = value;
      return std::nullopt;
    }
    return Quoted(items) + " is not known; use one of " + type;
  };
  setting.check = NoFault;
  setting.get = [access, choices](const Config& config) {
    for (const auto& [name, value] : choices) {
      if (value == Read(access, config)) return Items{name};
    }
    return Items{};
  };
  return setting;
}

Fault CheckStoreUrl(const std::string& url) {
  if (url == "memory:") return std::nullopt;
  if (url.starts_with("memory:")) return "memory: takes nothing after the colon; write memory:";
  if (url.starts_with("sqlite:")) {
    if (url.size() > std::string("sqlite:").size()) return std::nullopt;
    return "sqlite: has no path; write for example sqlite:./data/snowlease.db";
  }
  // The store itself looks at the rest.
  for (const char* scheme : {"postgresql://", "postgres://", "mysql://", "mariadb://"}) {
    if (url.starts_with(scheme)) return std::nullopt;
  }
  return "names no store that this server has; write sqlite:PATH, memory:, postgresql://... or "
         "mysql://...";
}

Fault CheckAddress(const std::string& text) {
  std::string fix;
  if (ParseListenAddress(text, &fix)) return std::nullopt;
  return "\"" + text + "\" is no address; " + fix;
}

Fault CheckPatterns(const Items& patterns) {
  for (const std::string& pattern : patterns) {
    if (pattern.empty() || pattern.size() > 200) return "a pattern has 1 to 200 bytes";
  }
  return std::nullopt;
}

Fault CheckMetricNamespaces(const Items& names) {
  constexpr size_t kMost = 100;  // each costs several series
  if (names.size() > kMost) {
    return std::to_string(names.size()) + " namespaces are too many; list at most " +
           std::to_string(kMost) + ", the rest is counted as \"other\"";
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "other") return "\"other\" stands for all that are not listed; leave it out";
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return "\"" + names[i] + "\" is listed twice; leave one out";
    }
  }
  return std::nullopt;
}

Fault AnyText(const std::string&) { return std::nullopt; }
Fault AnyList(const Items&) { return std::nullopt; }

// gRPC takes its durations as 32-bit milliseconds.
constexpr Millis kMaxGrpcDuration = 576h;

#define FIELD(type, member) +[](Config& config) -> type& { return config.member; }

void AddStoreSettings(std::vector<Setting>& table) {
  using storage::MigrateMode;
  table.push_back(Text("store.url", "URL", FIELD(std::string, store.url), CheckStoreUrl,
                       "Where leases are kept: sqlite:PATH or memory:."));
  table.push_back(Choice<MigrateMode, 3>(
      "store.migrate", FIELD(MigrateMode, store.migrate),
      {{{"auto", MigrateMode::kAuto}, {"check", MigrateMode::kCheck}, {"off", MigrateMode::kOff}}},
      "At start, bring the schema up to date, only check it, or leave it alone."));
  table.push_back(Text("store.user", "text", FIELD(std::string, store.user), AnyText,
                       "Account at the store; replaces the one in store.url."));
  table.push_back(Secret("store.password", FIELD(std::string, store.password),
                         "Password at the store; replaces the one in store.url."));
  table.push_back(
      Text("store.password-file", "path", FIELD(std::string, store.password_file), AnyText,
           "File that holds store.password; MySQL and MariaDB read it at every connect."));
  table.push_back(Duration("store.timeout", FIELD(Millis, store.timeout), 100ms, 1h,
                           "Longest time that one batch may take at the store."));
}

void AddGrpcSettings(std::vector<Setting>& table) {
  table.push_back(Text("grpc.listen", "host:port", FIELD(std::string, grpc.listen), CheckAddress,
                       "Address of the gRPC port; port 0 takes a free one."));
  table.push_back(Duration("grpc.max-connection-age", FIELD(Millis, grpc.max_connection_age), 1s,
                           kMaxGrpcDuration,
                           "Age at which a connection is asked to reconnect, give or take 10 %."));
  table.push_back(Duration("grpc.max-connection-age-grace",
                           FIELD(Millis, grpc.max_connection_age_grace), 1s, kMaxGrpcDuration,
                           "Time that calls then have to finish."));
  table.push_back(Duration("grpc.keepalive-time", FIELD(Millis, grpc.keepalive_time), 1s,
                           kMaxGrpcDuration, "Idle time after which the server pings a client."));
  table.push_back(Duration("grpc.keepalive-timeout", FIELD(Millis, grpc.keepalive_timeout), 1s,
                           kMaxGrpcDuration, "Time a client has to answer such a ping."));
  table.push_back(Duration("grpc.min-ping-interval", FIELD(Millis, grpc.min_ping_interval), 1s,
                           kMaxGrpcDuration,
                           "Clients that ping more often than this are disconnected."));
  table.push_back(Switch("grpc.reflection", FIELD(bool, grpc.reflection),
                         "Describe the API to tools such as grpcurl."));
  table.push_back(Switch("grpc.channelz", FIELD(bool, grpc.channelz),
                         "Serve gRPC's own view of its connections, for debugging."));
  table.push_back(Text("grpc.tls.cert-file", "path", FIELD(std::string, grpc.tls.cert_file),
                       AnyText, "Certificate chain of the gRPC port, PEM; turns TLS on."));
  table.push_back(Text("grpc.tls.key-file", "path", FIELD(std::string, grpc.tls.key_file), AnyText,
                       "Its private key, PEM, without passphrase."));
  table.push_back(Text("grpc.tls.client-ca-file", "path",
                       FIELD(std::string, grpc.tls.client_ca_file), AnyText,
                       "Clients must have a certificate signed by one of these, PEM."));
}

void AddHttpSettings(std::vector<Setting>& table) {
  table.push_back(
      Switch("http.enabled", FIELD(bool, http.enabled), "Serve metrics, health and the JSON API."));
  table.push_back(Text("http.listen", "host:port", FIELD(std::string, http.listen), CheckAddress,
                       "Address of the HTTP port; port 0 takes a free one."));
  table.push_back(
      List("http.allowed-hosts", FIELD(Items, http.allowed_hosts), AnyList,
           "Host names that requests may use besides localhost and addresses; empty: any, "
           "but none on a loopback address."));
  table.push_back(
      Number("http.threads", FIELD(int64_t, http.threads), 2, 256,
             "Requests served at a time; a quarter of them is left for health and metrics."));
  table.push_back(Duration("http.request-timeout", FIELD(Millis, http.request_timeout), 100ms, 1h,
                           "Longest time for receiving a request, and again for answering it."));
}

void AddLeaseSettings(std::vector<Setting>& table) {
  table.push_back(Switch("admin.enabled", FIELD(bool, admin.enabled),
                         "Answer the operators' API (AdminService)."));
  table.push_back(Duration("lease.max-clock-ahead", FIELD(Millis, lease.max_clock_ahead), 1ms, 24h,
                           "How far a client's clock may be ahead of the server's."));
  table.push_back(Duration("lease.quarantine", FIELD(Millis, lease.quarantine), 1s, 8760h,
                           "How long the machine id of a lease that never expires rests after a "
                           "forced release."));
  table.push_back(Number("lease.history", FIELD(int64_t, lease.history), 1, 1000,
                         "Grants remembered per machine id."));
  table.push_back(List("namespaces.create", FIELD(Items, namespaces.create), CheckPatterns,
                       "Patterns (* and ?) of the namespaces that a first claim creates; an empty "
                       "list: none."));
  table.push_back(Number("batching.max-batch", FIELD(int64_t, batching.max_batch), 1, 1024,
                         "Most calls that share one transaction."));
  table.push_back(Number("batching.max-queue", FIELD(int64_t, batching.max_queue), 1, 1'000'000,
                         "Most calls that wait for the store; more are refused as OVERLOADED."));
  table.push_back(Duration("batching.max-queue-age", FIELD(Millis, batching.max_queue_age), 1ms, 1h,
                           "Longest time a call waits for the store before it is refused."));
}

void AddProcessSettings(std::vector<Setting>& table) {
  table.push_back(Choice<LogLevel, 5>("log.level", FIELD(LogLevel, log.level),
                                      {{{"trace", LogLevel::kTrace},
                                        {"debug", LogLevel::kDebug},
                                        {"info", LogLevel::kInfo},
                                        {"warn", LogLevel::kWarn},
                                        {"error", LogLevel::kError}}},
                                      "Least serious level that is logged."));
  table.push_back(Choice<LogFormat, 2>("log.format", FIELD(LogFormat, log.format),
                                       {{{"text", LogFormat::kText}, {"json", LogFormat::kJson}}},
                                       "How log lines on standard error are written."));
  table.push_back(List("metrics.namespaces", FIELD(Items, metrics.namespaces),
                       CheckMetricNamespaces,
                       "Namespaces with a label of their own in metrics; the rest is \"other\"."));
  table.push_back(Duration("drain.delay", FIELD(Millis, drain.delay), 0ms, 1h,
                           "Wait between \"not serving\" and refusing calls at shutdown, for load "
                           "balancers to notice."));
  table.push_back(Duration("drain.timeout", FIELD(Millis, drain.timeout), 100ms, 1h,
                           "Time that calls then have to finish."));
}

#undef FIELD

}  // namespace

std::string Setting::Flag() const {
  std::string flag = "--" + key;
  std::replace(flag.begin() + 2, flag.end(), '.', '-');
  return flag;
}

std::string Setting::Variable() const {
  std::string variable = "SNOWLEASE_";
  for (const char c : key) {
    variable += c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(c));
  }
  return variable;
}

const std::vector<Setting>& Settings() {
  static const auto& table = *[] {
    auto* all = new std::vector<Setting>();
    AddStoreSettings(*all);
    AddGrpcSettings(*all);
    AddHttpSettings(*all);
    AddLeaseSettings(*all);
    AddProcessSettings(*all);
    return all;
  }();
  return table;
}

const Setting* FindSetting(const std::string& key) {
  for (const Setting& setting : Settings()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

}  // namespace snowlease::service
