#include "tests/testing/postgres_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <pqxx/connection>
#include <pqxx/nontransaction>
#include <sstream>
#include <stdexcept>

namespace snowlease::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kPatience{30};

// In memory a flush costs nothing; what flushes are for is not lost with the process.
fs::path BaseFolder() {
  const fs::path shared_memory = "/dev/shm";
  if (access(shared_memory.c_str(), W_OK) == 0) return shared_memory;
  return fs::temp_directory_path();
}

fs::path MakeFolder(const std::string& name) {
  std::string folder = BaseFolder() / (name + "-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder " + folder);
  return folder;
}

// The servers refuse to run as root.
const passwd* Account() {
  if (geteuid() != 0) return nullptr;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* account = getpwnam(name)) return account;
  }
  throw std::runtime_error("no account to run a database server as");
}

void GiveAway(const fs::path& path) {
  const passwd* const account = Account();
  if (account != nullptr && chown(path.c_str(), account->pw_uid, account->pw_gid) != 0) {
    throw std::runtime_error("chown " + path.string());
  }
}

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Starts a program without rights that ends with this process; its output goes to `log`.
pid_t Launch(const std::vector<std::string>& command, const fs::path& log) {
  const passwd* const account = Account();
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  // A test's sockets are not the server's.
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  if (account != nullptr && (setgroups(0, nullptr) != 0 || setgid(account->pw_gid) != 0 ||
                             setuid(account->pw_uid) != 0)) {
    _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (getppid() != parent || chdir("/") != 0) _exit(126);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int Wait(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

bool HasEnded(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; }

std::string ServerProgram(const std::string& name) {
  std::vector<fs::path> versions;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql")) {
    if (fs::exists(entry.path() / "bin" / name)) versions.push_back(entry.path() / "bin" / name);
  }
  if (versions.empty()) throw std::runtime_error("no PostgreSQL server: run scripts/setup");
  return *std::max_element(versions.begin(), versions.end());
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

}  // namespace

bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

PostgresServer::PostgresServer(std::vector<std::string> settings)
    : settings_(std::move(settings)), folder_(MakeFolder("snowlease-postgres")) {
  try {
    MakeData();
    Start();
  } catch (...) {
    if (pid_ > 0) Kill();
    fs::remove_all(folder_);
    throw;
  }
}

PostgresServer::~PostgresServer() {
  if (pid_ > 0) Kill();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

PostgresServer& PostgresServer::Shared() {
  static PostgresServer server;
  return server;
}

std::string PostgresServer::Url(const std::string& options, const std::string& user) const {
  return "postgresql://" + user + "@127.0.0.1:" + std::to_string(port_) + "/postgres" +
         (options.empty() ? "" : "?" + options);
}

void PostgresServer::MakeData() {
  GiveAway(folder_);
  const fs::path log = folder_ / "initdb.log";
  const pid_t pid = Launch({ServerProgram("initdb"), "-D", folder_ / "data", "-U", "snowlease",
                            "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"},
                           log);
  if (Wait(pid) != 0) throw std::runtime_error("initdb failed: " + TextOf(log));
}

void PostgresServer::Start() {
  if (port_ == 0) port_ = FreePort();
  std::vector<std::string> command = {ServerProgram("postgres"), "-D", folder_ / "data"};
  std::vector<std::string> settings = {"listen_addresses=127.0.0.1",
                                       "port=" + std::to_string(port_),
                                       "unix_socket_directories=",
                                       "fsync=on",
                                       "max_connections=200",
                                       "shared_buffers=128MB",
                                       "max_wal_size=4GB"};
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    command.insert(command.end(), {"-c", setting});
  }
  pid_ = Launch(command, folder_ / "log");
  AwaitAnswer();
}

void PostgresServer::AwaitAnswer() {
  const bool answers = Eventually([this] {
    if (HasEnded(pid_)) {
      pid_ = -1;
      throw std::runtime_error("PostgreSQL ended: " + TextOf(folder_ / "log"));
    }
    try {
      Run("SELECT 1");
      return true;
    } catch (const pqxx::failure&) {
      return false;
    }
  });
  if (!answers) throw std::runtime_error("PostgreSQL is silent: " + TextOf(folder_ / "log"));
}

void PostgresServer::Kill() {
  const std::vector<pid_t> children = ChildrenOf(pid_);
  kill(pid_, SIGKILL);
  for (const pid_t child : children) kill(child, SIGKILL);
  Wait(pid_);
  pid_ = -1;
  // Its shared memory is in use until the last of them is gone.
  for (const pid_t child : children) Eventually([child] { return kill(child, 0) != 0; });
}

void PostgresServer::Stop() {
  kill(pid_, SIGINT);
  Wait(pid_);
  pid_ = -1;
}

std::string PostgresServer::Run(const std::string& sql) const {
  pqxx::connection connection(Url("connect_timeout=5"));
  pqxx::quiet_errorhandler quiet(connection);
  pqxx::nontransaction statements(connection);
  const pqxx::result result = statements.exec(sql);
  if (result.empty() || result.columns() == 0) return "";
  return result[0][0].c_str();
}

PgBouncer::PgBouncer(const PostgresServer& server, int pool_size)
    : folder_(MakeFolder("snowlease-pgbouncer")), port_(FreePort()) {
  GiveAway(folder_);
  const fs::path config = folder_ / "pgbouncer.ini";
  std::ofstream(config) << "[databases]\n"
                        << "postgres = host=127.0.0.1 port=" << server.port()
                        << " dbname=postgres user=snowlease\n"
                        << "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
                        << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
                        << "default_pool_size = " << pool_size << "\nserver_reset_query =\n"
                        << "max_client_conn = 200\n";
  pid_ = Launch({"/usr/sbin/pgbouncer", config}, folder_ / "log");
  const bool answers = Eventually([this] {
    try {
      pqxx::connection connection(Url("connect_timeout=5"));
      pqxx::nontransaction(connection).exec("SELECT 1");
      return true;
    } catch (const pqxx::failure&) {
      return HasEnded(pid_);
    }
  });
  if (!answers || HasEnded(pid_)) {
    throw std::runtime_error("pgbouncer does not run: " + TextOf(folder_ / "log"));
  }
}

PgBouncer::~PgBouncer() {
  kill(pid_, SIGKILL);
  Wait(pid_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string PgBouncer::Url(const std::string& options) const {
  return "postgresql://snowlease@127.0.0.1:" + std::to_string(port_) + "/postgres" +
         (options.empty() ? "" : "?" + options);
}

}  // namespace snowlease::testing
