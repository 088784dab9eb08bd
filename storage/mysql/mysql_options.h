#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/lease.h"

namespace snowlease::storage {

struct MysqlHost {
  std::string name;
  uint16_t port = 3306;
};

struct MysqlOptions {
  enum class Tls : uint8_t { kOff, kRequired, kVerify };

  std::vector<MysqlHost> hosts;  // tried in order; those that are read-only are passed over
  std::string socket;            // instead of hosts
  std::string user;
  std::string password;
  std::string password_file;  // read at every connect, instead of password
  std::string database;
  Tls tls = Tls::kOff;  // kVerify: certificate and host name, by tls_ca
  std::string tls_ca;
  int connections = 1;             // for writes; one more serves reads
  Millis connect_timeout{5'000};   // whole seconds
  Millis network_timeout{10'000};  // longest silence of the server; whole seconds
  Millis lock_timeout{4'000};      // longest wait for another transaction; whole seconds
  // For tests: what to take for the database's clock, given what it says.
  std::function<StoreTime(StoreTime)> store_clock;
};

// `text` is what follows the scheme's colon:
//   //USER:PASSWORD@HOST[:PORT][,HOST[:PORT]...]/DATABASE[?OPTION=VALUE&...]
// with %XX for bytes that are no letters. Options: socket, password_file, tls (off, required,
// verify), tls_ca, connections, connect_timeout_s, network_timeout_s, lock_timeout_s.
// Errors: INVALID_ARGUMENT (field "store.url"), without a word of the password.
absl::StatusOr<MysqlOptions> ParseMysqlUrl(const std::string& text);

}  // namespace snowlease::storage
