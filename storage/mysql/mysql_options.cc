#include "storage/mysql/mysql_options.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

constexpr char kShape[] = "write mysql://USER:PASSWORD@HOST:PORT/DATABASE";

absl::Status UrlError(const std::string& what) {
  return InvalidArgumentError({{"store.url", what}});
}

std::optional<int64_t> ParseNumber(std::string_view text, int64_t low, int64_t high) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < low || value > high) return std::nullopt;
  return value;
}

// None when a % is not followed by two hexadecimal digits.
std::optional<std::string> Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 3 > text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(&text[i] + 1, text.data() + i + 3, byte, 16);
    if (error != std::errc() || end != text.data() + i + 3) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

absl::Status SetSeconds(Millis& setting, const std::string& name, const std::string& value) {
  constexpr int64_t kLongest = 3600;
  const auto seconds = ParseNumber(value, 1, kLongest);
  if (!seconds) return UrlError(name + " must be a whole number of seconds from 1 to 3600");
  setting = Millis(*seconds * 1000);
  return absl::OkStatus();
}

absl::Status SetTls(MysqlOptions& options, const std::string& value) {
  using Tls = MysqlOptions::Tls;
  if (value == "off") {
    options.tls = Tls::kOff;
  } else if (value == "required") {
    options.tls = Tls::kRequired;
  } else if (value == "verify") {
    options.tls = Tls::kVerify;
  } else {
    return UrlError("tls must be off, required or verify");
  }
  return absl::OkStatus();
}

absl::Status SetOption(MysqlOptions& options, std::string_view text) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const auto decoded =
      Decoded(equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1));
  if (!decoded) return UrlError("option " + name + " has a % without two hexadecimal digits");
  const std::string& value = *decoded;
  if (name == "socket") {
    options.socket = value;
  } else if (name == "password_file") {
    options.password_file = value;
  } else if (name == "tls") {
    return SetTls(options, value);
  } else if (name == "tls_ca") {
    options.tls_ca = value;
  } else if (name == "connections") {
    const auto number = ParseNumber(value, 1, 64);
    if (!number) return UrlError("connections must be a whole number from 1 to 64");
    options.connections = static_cast<int>(*number);
  } else if (name == "connect_timeout_s") {
    return SetSeconds(options.connect_timeout, name, value);
  } else if (name == "network_timeout_s") {
    return SetSeconds(options.network_timeout, name, value);
  } else if (name == "lock_timeout_s") {
    return SetSeconds(options.lock_timeout, name, value);
  } else {
    return UrlError("mysql: has no option \"" + name +
                    "\"; its options are socket, password_file, tls, tls_ca, connections, "
                    "connect_timeout_s, network_timeout_s, lock_timeout_s");
  }
  return absl::OkStatus();
}

absl::Status SetHosts(MysqlOptions& options, std::string_view text) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view host = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    MysqlHost parsed;
    // An IPv6 address stands in brackets.
    const size_t bracket = host.rfind(']');
    const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) {
      const auto port = ParseNumber(host.substr(colon + 1), 1, 65535);
      if (!port) return UrlError("the port must be a number from 1 to 65535");
      parsed.port = static_cast<uint16_t>(*port);
    }
    parsed.name = host.substr(0, colon);
    if (bracket != std::string_view::npos && parsed.name.front() == '[') {
      parsed.name = parsed.name.substr(1, parsed.name.size() - 2);
    }
    if (parsed.name.empty()) return UrlError(std::string("a host has no name; ") + kShape);
    options.hosts.push_back(std::move(parsed));
  }
  return absl::OkStatus();
}

absl::Status SetUser(MysqlOptions& options, std::string_view text) {
  const size_t colon = text.find(':');
  const auto user = Decoded(text.substr(0, colon));
  const auto password =
      Decoded(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
  if (!user || !password) {
    return UrlError("user or password has a % without two hexadecimal digits; write %25 for %");
  }
  options.user = *user;
  options.password = *password;
  return absl::OkStatus();
}

absl::Status CheckWhole(const MysqlOptions& options) {
  if (options.database.empty()) return UrlError(std::string("the database is missing; ") + kShape);
  if (options.user.empty()) return UrlError(std::string("the user is missing; ") + kShape);
  if (options.hosts.empty() && options.socket.empty()) {
    return UrlError(std::string("the host is missing; ") + kShape);
  }
  if (!options.password.empty() && !options.password_file.empty()) {
    return UrlError("give a password or a password_file, not both");
  }
  if (options.tls == MysqlOptions::Tls::kVerify && options.tls_ca.empty()) {
    return UrlError("tls=verify needs tls_ca, the file of the certificate authority");
  }
  if (options.lock_timeout >= options.network_timeout) {
    return UrlError("lock_timeout_s must be shorter than network_timeout_s");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MysqlOptions> ParseMysqlUrl(const std::string& text) {
  MysqlOptions options;
  std::string_view left = text;
  if (!left.starts_with("//")) return UrlError(kShape);
  left.remove_prefix(2);
  const size_t question = left.find('?');
  std::string_view settings =
      question == std::string_view::npos ? std::string_view() : left.substr(question + 1);
  left = left.substr(0, question);
  // The last @ ends the user's part.
  if (const size_t at = left.rfind('@'); at != std::string_view::npos) {
    if (auto status = SetUser(options, left.substr(0, at)); !status.ok()) return status;
    left.remove_prefix(at + 1);
  }
  const size_t slash = left.find('/');
  if (auto status = SetHosts(options, left.substr(0, slash)); !status.ok()) return status;
  if (slash != std::string_view::npos) {
    const auto database = Decoded(left.substr(slash + 1));
    if (!database) return UrlError("the database has a % without two hexadecimal digits");
    options.database = *database;
  }
  while (!settings.empty()) {
    const size_t end = std::min(settings.find('&'), settings.size());
    if (auto status = SetOption(options, settings.substr(0, end)); !status.ok()) return status;
    settings.remove_prefix(std::min(end + 1, settings.size()));
  }
  if (auto status = CheckWhole(options); !status.ok()) return status;
  return options;
}

}  // namespace snowlease::storage
