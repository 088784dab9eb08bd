#include "storage/postgres/postgres_url.h"

#include <libpq-fe.h>

#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

constexpr size_t kLongestName = 63;  // PostgreSQL cuts longer ones off

absl::Status UrlError(const std::string& what) {
  return InvalidArgumentError({{"store.url", what}});
}

// Given to libpq where the URL does not say otherwise.
const std::map<std::string_view, std::string_view>& Defaults() {
  static const std::map<std::string_view, std::string_view> defaults = {
      {"application_name", "snowlease"},
      {"client_encoding", "UTF8"},
      {"connect_timeout", "3"},
      // A host that is gone is noticed, whoever waits for whom.
      {"keepalives_idle", "5"},
      {"keepalives_interval", "2"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "10000"},
      // A standby, or a primary that was demoted, is passed over.
      {"target_session_attrs", "read-write"},
  };
  return defaults;
}

std::optional<int> NumberIn(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < low || value > high) return std::nullopt;
  return value;
}

struct Split {
  std::string_view name;
  std::string_view value;
};

std::vector<Split> SplitQuery(std::string_view query) {
  std::vector<Split> options;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view option = query.substr(0, end);
    const size_t equals = std::min(option.find('='), option.size());
    options.push_back(
        {option.substr(0, equals), option.substr(std::min(equals + 1, option.size()))});
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return options;
}

// Takes an option of ours; false: it is libpq's.
absl::StatusOr<bool> TakeOwn(PostgresUrl& url, const Split& option) {
  const auto number = [&](int low, int high) -> absl::StatusOr<int> {
    const auto value = NumberIn(option.value, low, high);
    if (value) return *value;
    return UrlError(std::string(option.name) + " must be a whole number from " +
                    std::to_string(low) + " to " + std::to_string(high));
  };
  if (option.name == "schema") {
    if (option.value.empty() || option.value.size() > kLongestName ||
        option.value.find('%') != std::string_view::npos) {
      return UrlError("schema must be a name of 1 to 63 bytes, without %");
    }
    url.schema = option.value;
    return true;
  }
  if (option.name == "connections") {
    const auto value = number(2, 64);
    if (!value.ok()) return value.status();
    url.connections = *value;
    return true;
  }
  if (option.name == "timeout_ms") {
    const auto value = number(100, 3'600'000);
    if (!value.ok()) return value.status();
    url.timeout = Millis(*value);
    return true;
  }
  return false;
}

// libpq's words about a URL may quote the password: they are not passed on.
bool LibpqUnderstands(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &error);
  PQfreemem(error);
  if (options == nullptr) return false;
  PQconninfoFree(options);
  return true;
}

}  // namespace

absl::StatusOr<PostgresUrl> ParsePostgresUrl(const std::string& text) {
  PostgresUrl url;
  const size_t colon = text.find("://");
  const std::string_view scheme = std::string_view(text).substr(0, colon);
  if (colon == std::string::npos || (scheme != "postgresql" && scheme != "postgres")) {
    return UrlError("write postgresql://USER@HOST:PORT/DATABASE");
  }
  const size_t question = std::min(text.find('?', colon), text.size());
  const std::string base = text.substr(0, question);
  std::map<std::string_view, std::string_view> defaults = Defaults();
  std::string query;
  const auto add = [&](std::string_view name, std::string_view value) {
    query += (query.empty() ? "?" : "&") + std::string(name) + "=" + std::string(value);
  };
  for (const Split& option :
       SplitQuery(std::string_view(text).substr(std::min(question + 1, text.size())))) {
    const auto own = TakeOwn(url, option);
    if (!own.ok()) return own.status();
    if (*own) continue;
    defaults.erase(option.name);
    add(option.name, option.value);
  }
  for (const auto& [name, value] : defaults) add(name, value);
  url.libpq_url = base + query;
  if (!LibpqUnderstands(url.libpq_url)) {
    return UrlError(
        "is not a URL that PostgreSQL's libpq understands: write "
        "postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE, with other characters in names and "
        "passwords percent-encoded; beside libpq's options there are schema, connections and "
        "timeout_ms");
  }
  const size_t at = base.rfind('@');
  url.where = "PostgreSQL at " + base.substr(at == std::string::npos ? colon + 3 : at + 1);
  return url;
}

}  // namespace snowlease::storage
