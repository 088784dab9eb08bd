#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace snowlease::testing {

// A PostgreSQL server of Debian's packages, with a data directory and a loopback port of
// its own, run by an account without rights when the test runs as root. fsync is on.
class PostgresServer {
 public:
  // Makes the data directory, in memory where there is room, and starts the server.
  // `settings` are "name=value". Throws when it cannot.
  explicit PostgresServer(std::vector<std::string> settings = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // One that all tests of the program share, stopped at its end.
  static PostgresServer& Shared();

  int port() const { return port_; }
  // The database "postgres" as superuser, unless told otherwise.
  std::string Url(const std::string& options = "", const std::string& user = "snowlease") const;

  // Starts the server on the same data and port, and waits until it answers.
  void Start();
  // Ends the server and all its children at once, as a crash does.
  void Kill();
  // The server ends its sessions and itself.
  void Stop();
  // Runs statements on a connection of their own; answers the first field, if any.
  std::string Run(const std::string& sql) const;

 private:
  void MakeData();
  void AwaitAnswer();

  std::vector<std::string> settings_;
  std::filesystem::path folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

// PgBouncer before a server: transaction mode, so many server connections.
class PgBouncer {
 public:
  PgBouncer(const PostgresServer& server, int pool_size);
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  std::string Url(const std::string& options = "") const;

 private:
  std::filesystem::path folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

// A loopback port that nobody listens on.
int FreePort();
// Bounded wait in real time for something that another process does.
bool Eventually(const std::function<bool()>& condition);

}  // namespace snowlease::testing
