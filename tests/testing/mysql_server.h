#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "storage/mysql/connection.h"
#include "storage/mysql/mysql_options.h"

namespace snowlease::testing {

// A MariaDB server of the test's own: unprivileged, in a folder of its own, on a free
// loopback port; ends with the object, and with the process. Throws when it cannot start.
class MysqlServer {
 public:
  struct Settings {
    std::vector<std::string> flags;             // for mariadbd, after the fixture's own
    std::vector<std::string> first_flags = {};  // the same, for the first start only
    bool joins = false;                         // gets its data, and the user, from a cluster
    std::string time_zone;                      // of the process: its SYSTEM time zone
    bool in_memory = true;                      // what is written to disks needs no disk
    int most_connections = 0;                   // of the user; 0: any number
  };

  MysqlServer() : MysqlServer(Settings()) {}
  explicit MysqlServer(Settings settings);
  ~MysqlServer();
  MysqlServer(const MysqlServer&) = delete;
  MysqlServer& operator=(const MysqlServer&) = delete;

  void Start() { Start({}); }
  // As power loss, or kill -9; Start goes on with the same data.
  void Kill();
  // As an operator stops it.
  void Stop();

  // Makes an empty database; answers its name.
  std::string NewDatabase();
  // For a user who may do all, by TCP.
  storage::MysqlOptions Options(const std::string& database) const;
  // "//user:password@127.0.0.1:port/database"
  std::string Url(const std::string& database) const;
  // A session of the superuser.
  storage::mysql::Connection Root(const std::string& database = "mysql") const;
  void Run(const std::string& sql) const { Root().Execute(sql); }
  // Ends all connections of the user, as wait_timeout does.
  void CloseConnections() const;

 private:
  void Start(const std::vector<std::string>& flags);
  pid_t Spawn(const std::vector<std::string>& command) const;
  void End(int signal);
  std::string Socket() const { return folder_ / "socket"; }

  const Settings settings_;
  std::filesystem::path folder_;
  int port_ = 0;
  pid_t pid_ = -1;
  int databases_ = 0;
};

// A loopback port that nobody uses.
int FreePort();

// Waits in real time, at most 60 s, for something that another process or thread does.
bool EventuallyTrue(const std::function<bool()>& condition);

}  // namespace snowlease::testing
