#include "storage/store_factory.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "storage/errors.h"
#include "storage/memory/memory_lease_store.h"
#ifdef SNOWLEASE_POSTGRES
#include "storage/postgres/postgres_lease_store.h"
#endif
#ifdef SNOWLEASE_MYSQL
#include "storage/mysql/mysql_lease_store.h"
#endif
#ifdef SNOWLEASE_SQLITE
#include "storage/sqlite/sqlite_lease_store.h"
#endif

namespace snowlease::storage {
namespace {

using StoreOrError = absl::StatusOr<std::unique_ptr<LeaseStore>>;

constexpr char kHidden[] = "***";
// Names of options whose values are secrets, wherever in the name they stand.
constexpr std::string_view kSecretWords[] = {"password", "passwd", "pwd", "passphrase", "secret"};

absl::Status UrlError(const std::string& what) {
  return InvalidArgumentError({{"store.url", what}});
}

StoreOrError OpenMemory(const std::string& rest, const StoreOptions& options, Clock* clock) {
  if (!rest.empty()) return UrlError("memory: takes nothing after the colon");
  return std::make_unique<MemoryLeaseStore>(options, clock);
}

#ifdef SNOWLEASE_SQLITE
// A whole number in [low, high]; none otherwise.
std::optional<int64_t> ParseNumber(std::string_view text, int64_t low, int64_t high) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < low || value > high) return std::nullopt;
  return value;
}

struct NumberOption {
  std::string_view name;
  int64_t low;
  int64_t high;
  std::function<void(SqliteOptions&, int64_t)> set;
};

const std::vector<NumberOption>& SqliteUrlOptions() {
  static const std::vector<NumberOption> options = {
      {"wal_autocheckpoint", 1, 1'000'000,
       [](SqliteOptions& sqlite, int64_t n) { sqlite.wal_autocheckpoint = static_cast<int>(n); }},
      {"busy_timeout_ms", 1, 3'600'000,
       [](SqliteOptions& sqlite, int64_t n) { sqlite.busy_timeout = Millis(n); }},
      {"lock_wait_ms", 0, 3'600'000,
       [](SqliteOptions& sqlite, int64_t n) { sqlite.lock_wait = Millis(n); }},
  };
  return options;
}

absl::Status SetSqliteOption(SqliteOptions& sqlite, std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  std::string names;
  for (const NumberOption& option : SqliteUrlOptions()) {
    names += (names.empty() ? "" : ", ") + std::string(option.name);
    if (name != option.name) continue;
    const auto value = equals == std::string_view::npos
                           ? std::nullopt
                           : ParseNumber(text.substr(equals + 1), option.low, option.high);
    if (!value.has_value()) {
      return UrlError(std::string(name) + " must be a whole number from " +
                      std::to_string(option.low) + " to " + std::to_string(option.high));
    }
    option.set(sqlite, *value);
    return absl::OkStatus();
  }
  return UrlError("sqlite: has no option \"" + std::string(name) + "\"; its options are " + names);
}

StoreOrError OpenSqlite(const std::string& rest, const StoreOptions& options, Clock* clock) {
  SqliteOptions sqlite;
  const size_t question = rest.find('?');
  sqlite.path = rest.substr(0, question);
  // Two slashes would be an absolute path, which is not what was meant.
  if (sqlite.path.starts_with("//") && !sqlite.path.starts_with("///")) {
    return UrlError(
        "write sqlite:PATH without slashes before a relative path, or "
        "sqlite:/PATH for an absolute one");
  }
  std::string_view left = rest;
  left.remove_prefix(question == std::string::npos ? rest.size() : question + 1);
  while (!left.empty()) {
    const size_t end = std::min(left.find('&'), left.size());
    absl::Status status = SetSqliteOption(sqlite, left.substr(0, end));
    if (!status.ok()) return status;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  auto store = SqliteLeaseStore::Open(sqlite, options, clock);
  if (!store.ok()) return store.status();
  return *std::move(store);
}
#endif

#ifdef SNOWLEASE_POSTGRES
StoreOrError OpenPostgres(const std::string& rest, const StoreOptions& options, Clock* clock) {
  auto store = PostgresLeaseStore::Open({"postgresql:" + rest, ""}, options, clock);
  if (!store.ok()) return store.status();
  return *std::move(store);
}
#endif

#ifdef SNOWLEASE_MYSQL
StoreOrError OpenMysql(const std::string& rest, const StoreOptions& options, Clock* clock) {
  auto mysql = ParseMysqlUrl(rest);
  if (!mysql.ok()) return mysql.status();
  return std::make_unique<MysqlLeaseStore>(*std::move(mysql), options, clock);
}
#endif

struct Backend {
  std::string_view scheme;
  std::string_view usage;
  StoreOrError (*open)(const std::string& rest, const StoreOptions& options, Clock* clock);
};

constexpr Backend kBackends[] = {
    {"memory", "memory:", OpenMemory},
#ifdef SNOWLEASE_SQLITE
    {"sqlite", "sqlite:PATH", OpenSqlite},
#endif
#ifdef SNOWLEASE_MYSQL
    {"mysql", "mysql://USER:PASSWORD@HOST/DATABASE", OpenMysql},
    {"mariadb", "mariadb://USER:PASSWORD@HOST/DATABASE", OpenMysql},
#endif
#ifdef SNOWLEASE_POSTGRES
    {"postgresql", "postgresql://USER@HOST:PORT/DATABASE", OpenPostgres},
    {"postgres", "postgres://USER@HOST:PORT/DATABASE", OpenPostgres},
#endif
};

std::string UsageOfAll() {
  std::string usage;
  for (const Backend& backend : kBackends) {
    usage += (usage.empty() ? "" : ", ") + std::string(backend.usage);
  }
  return usage;
}

bool IsSecretName(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

// Hides the values of name=value pairs whose name says that they are secret.
std::string RedactOptions(const std::string& text) {
  constexpr char kSeparators[] = "?&; ";
  std::string out;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find_first_of(kSeparators, start), text.size());
    const std::string part = text.substr(start, end - start);
    const size_t equals = part.find('=');
    const bool secret = equals != std::string::npos && IsSecretName(part.substr(0, equals));
    out += secret ? part.substr(0, equals + 1) + kHidden : part;
    if (end < text.size()) out += text[end];
    start = end + 1;
  }
  return out;
}

}  // namespace

StoreOrError OpenStore(const std::string& url, const StoreOptions& options, Clock* clock) {
  const size_t colon = url.find(':');
  const std::string scheme = url.substr(0, colon);
  for (const Backend& backend : kBackends) {
    if (colon == std::string::npos || scheme != backend.scheme) continue;
    return backend.open(url.substr(colon + 1), options, clock);
  }
  // Without a scheme the text may be anything, a password too.
  const std::string what = colon == std::string::npos
                               ? "a store URL starts with a scheme and a colon"
                               : "no store \"" + scheme + ":\" is built into this server";
  return UrlError(what + "; it knows " + UsageOfAll());
}

std::string RedactedUrl(const std::string& url) {
  const size_t colon = url.find(':');
  const bool is_path = url.starts_with("sqlite:") || url.starts_with("memory:");
  // The last @ ends the user's part: a password with an @ in it is hidden as a whole, at
  // the price of hiding more than needed when an option has one.
  const size_t at = url.rfind('@');
  if (is_path || colon == std::string::npos || at == std::string::npos || at < colon) {
    return RedactOptions(url);
  }
  const size_t user = url.find_first_not_of('/', colon + 1);
  const size_t password = url.find(':', user);
  if (password == std::string::npos || password > at) return RedactOptions(url);
  return url.substr(0, password + 1) + kHidden + RedactOptions(url.substr(at));
}

}  // namespace snowlease::storage
