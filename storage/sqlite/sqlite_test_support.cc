#include "storage/sqlite/sqlite_test_support.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

namespace snowlease::storage {
namespace {

constexpr uid_t kNobody = 65534;

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = read(file, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(size));
  }
  return text;
}

struct Child {
  pid_t pid;
  int answer;
};

Child Start(int start_gate, const std::function<std::string()>& work) {
  int answer[2];
  if (pipe(answer) != 0) throw std::runtime_error("pipe");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid > 0) {
    close(answer[1]);
    return {pid, answer[0]};
  }
  // Returns when the parent opens the gate by closing its end.
  char nothing = 0;
  (void)!read(start_gate, &nothing, 1);
  std::string text;
  try {
    text = work();
  } catch (const std::exception& error) {
    text = std::string("exception: ") + error.what();
  }
  (void)!write(answer[1], text.data(), text.size());
  _exit(0);
}

}  // namespace

SqliteFolder::SqliteFolder() {
  std::string folder = std::filesystem::temp_directory_path() / "snowlease-sqlite-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for the database");
  folder_ = folder;
}

SqliteFolder::~SqliteFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

SqliteOptions SqliteFolder::Options() const {
  SqliteOptions options;
  options.path = path();
  return options;
}

absl::StatusOr<std::unique_ptr<SqliteLeaseStore>> SqliteFolder::Open(const SqliteOptions& options) {
  return SqliteLeaseStore::Open(options, StoreOptions(), &clock_);
}

std::unique_ptr<SqliteLeaseStore> SqliteFolder::Ready(const SqliteOptions& options) {
  auto store = Open(options);
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  const absl::Status status = (*store)->Migrate(MigrateMode::kAuto);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return *std::move(store);
}

ClaimSpec ClaimOf(const std::string& name_space, const std::string& instance_id,
                  const Clock& clock) {
  static std::atomic<uint64_t> claims{0};
  ClaimSpec spec;
  spec.name_space = name_space;
  spec.instance_id = instance_id;
  const uint64_t number = ++claims;
  std::memcpy(spec.incarnation_id.data(), &number, sizeof(number));
  spec.machine_bits = 12;
  spec.client_time = ClientTime{clock.Now().ms};
  spec.max_wait = Millis(500);
  return spec;
}

RenewSpec RenewOf(const Lease& lease, const Clock& clock) {
  RenewSpec spec;
  spec.grant = {lease.row.name_space, lease.row.machine_id, *lease.row.instance_id,
                lease.row.token};
  spec.client_time = ClientTime{clock.Now().ms};
  spec.last_timestamp = spec.client_time;
  return spec;
}

std::string RunInChild(const std::function<std::string()>& work) {
  return RunInChildren(1, [&work](int) { return work(); }).front();
}

std::vector<std::string> RunInChildren(int count, const std::function<std::string(int)>& work) {
  int gate[2];
  if (pipe(gate) != 0) throw std::runtime_error("pipe");
  std::vector<Child> children;
  for (int i = 0; i < count; ++i) {
    children.push_back(Start(gate[0], [&] { return work(i); }));
  }
  close(gate[0]);
  // One byte for each child: the gate's other end is open in all of them.
  const std::string bytes(static_cast<size_t>(count), '.');
  (void)!write(gate[1], bytes.data(), bytes.size());
  close(gate[1]);
  std::vector<std::string> answers;
  for (const Child& child : children) {
    std::string text = ReadAll(child.answer);
    close(child.answer);
    int status = 0;
    waitpid(child.pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      text += " (the child ended with status " + std::to_string(status) + ")";
    }
    answers.push_back(std::move(text));
  }
  return answers;
}

void BecomeNobody() {
  if (geteuid() != 0) return;
  if (setgid(kNobody) != 0 || setuid(kNobody) != 0) throw std::runtime_error("setuid");
}

bool Eventually(const std::function<bool()>& condition) {
  Clock* const clock = Clock::Real();
  const SteadyTime until = clock->SteadyNow() + std::chrono::seconds(20);
  std::mutex mutex;
  std::condition_variable nobody_notifies;
  std::unique_lock lock(mutex);
  while (!condition()) {
    if (clock->SteadyNow() >= until) return false;
    clock->WaitUntil(nobody_notifies, lock, clock->SteadyNow() + Millis(5));
  }
  return true;
}

}  // namespace snowlease::storage
