#include "tests/testing/mysql_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "storage/clock.h"

namespace snowlease::testing {
namespace {

using storage::mysql::Connection;

constexpr uid_t kNobody = 65534;
constexpr char kUser[] = "snowlease";
// With what must be encoded in a URL.
constexpr char kPassword[] = "p@ss:w/rd?%";
constexpr char kEncodedPassword[] = "p%40ss%3aw%2frd%3f%25";

std::filesystem::path NewFolder(bool in_memory) {
  const std::filesystem::path shared_memory = "/dev/shm";
  const bool fast = in_memory && access(shared_memory.c_str(), W_OK) == 0;
  std::string folder =
      (fast ? shared_memory : std::filesystem::temp_directory_path()) / "snowlease-mysql-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for the server");
  if (geteuid() == 0 && chown(folder.c_str(), kNobody, kNobody) != 0) {
    throw std::runtime_error("chown");
  }
  return folder;
}

// Between fork and exec: system calls only.
void BecomeNobodyThatDiesWithParent(pid_t parent) {
  if (geteuid() == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int FreePort() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool bound = bind(file, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(file, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(file);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

bool EventuallyTrue(const std::function<bool()>& condition) {
  storage::Clock* const clock = storage::Clock::Real();
  const storage::SteadyTime until = clock->SteadyNow() + std::chrono::seconds(60);
  std::mutex mutex;
  std::condition_variable nobody_notifies;
  std::unique_lock lock(mutex);
  while (!condition()) {
    if (clock->SteadyNow() >= until) return false;
    clock->WaitUntil(nobody_notifies, lock, clock->SteadyNow() + storage::Millis(20));
  }
  return true;
}

MysqlServer::MysqlServer(Settings settings)
    : settings_(std::move(settings)), folder_(NewFolder(settings_.in_memory)), port_(FreePort()) {
  const pid_t pid =
      Spawn({"mariadb-install-db", "--no-defaults", "--datadir=" + (folder_ / "data").string(),
             "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
             "--innodb-log-file-size=32M"});
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error("mariadb-install-db: " + TextOf(folder_ / "log"));
  Start(settings_.first_flags);
  if (settings_.joins) return;
  std::string limit;
  if (settings_.most_connections > 0) {
    limit = " WITH MAX_USER_CONNECTIONS " + std::to_string(settings_.most_connections);
  }
  Run(std::string("CREATE USER ") + kUser + "@'%' IDENTIFIED BY '" + kPassword + "'" + limit);
  Run(std::string("GRANT ALL ON `snowlease\\_%`.* TO ") + kUser + "@'%'");
}

MysqlServer::~MysqlServer() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

pid_t MysqlServer::Spawn(const std::vector<std::string>& command) const {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const std::string log = folder_ / "log";
  const std::string path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  const std::string zone = "TZ=" + settings_.time_zone;
  std::vector<char*> environment = {const_cast<char*>(path.c_str())};
  if (!settings_.time_zone.empty()) environment.push_back(const_cast<char*>(zone.c_str()));
  environment.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid > 0) return pid;
  BecomeNobodyThatDiesWithParent(parent);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execvpe(arguments[0], arguments.data(), environment.data());
  _exit(127);
}

void MysqlServer::Start(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {"mariadbd",
                                      "--no-defaults",
                                      "--datadir=" + (folder_ / "data").string(),
                                      "--socket=" + Socket(),
                                      "--port=" + std::to_string(port_),
                                      "--bind-address=127.0.0.1",
                                      "--skip-name-resolve",
                                      "--innodb-flush-log-at-trx-commit=1",
                                      "--innodb-log-file-size=32M",
                                      "--innodb-buffer-pool-size=128M",
                                      "--performance-schema=off"};
  command.insert(command.end(), settings_.flags.begin(), settings_.flags.end());
  command.insert(command.end(), flags.begin(), flags.end());
  pid_ = Spawn(command);
  std::string error;
  const bool ready = EventuallyTrue([&] {
    try {
      Root();
      return true;
    } catch (const storage::StoreFailure& failure) {
      error = failure.what();
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
      pid_ = -1;
      throw std::runtime_error("mariadbd has ended: " + TextOf(folder_ / "log"));
    }
  });
  if (!ready) throw std::runtime_error("mariadbd does not answer: " + error);
}

void MysqlServer::End(int signal) {
  if (pid_ < 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void MysqlServer::Kill() { End(SIGKILL); }

void MysqlServer::Stop() { End(SIGTERM); }

std::string MysqlServer::NewDatabase() {
  const std::string name = "snowlease_" + std::to_string(++databases_);
  Run("CREATE DATABASE " + name);
  return name;
}

storage::MysqlOptions MysqlServer::Options(const std::string& database) const {
  storage::MysqlOptions options;
  options.hosts = {{"127.0.0.1", static_cast<uint16_t>(port_)}};
  options.user = kUser;
  options.password = kPassword;
  options.database = database;
  return options;
}

std::string MysqlServer::Url(const std::string& database) const {
  return std::string("//") + kUser + ":" + kEncodedPassword +
         "@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

Connection MysqlServer::Root(const std::string& database) const {
  storage::MysqlOptions options;
  options.socket = Socket();
  options.user = "root";
  options.database = database;
  return Connection(options);
}

void MysqlServer::CloseConnections() const {
  Run(std::string("KILL HARD CONNECTION USER ") + kUser);
}

}  // namespace snowlease::testing
