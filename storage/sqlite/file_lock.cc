#include "storage/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "storage/clock.h"
#include "storage/errors.h"
#include "storage/lease_rows.h"
#include "storage/sqlite/sqlite_errors.h"

namespace snowlease::storage {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr Millis kLockPause{20};

std::string HolderOf(int file) {
  char text[32] = {};
  const ssize_t size = pread(file, text, sizeof(text) - 1, 0);
  const std::string pid(text, size > 0 ? static_cast<size_t>(size) : 0);
  const bool is_pid = !pid.empty() && std::all_of(pid.begin(), pid.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  return is_pid ? "process " + pid : "another process";
}

// False: somebody else has it.
bool TryLock(int file, const std::string& lock_path) {
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw StoreFailure(FileError(errno, lock_path, "lock"));
  }
  return true;
}

// The holder is a real process, so it is waited for in real time whatever the store's clock.
bool LockWithin(int file, const std::string& lock_path, Millis wait) {
  Clock* const clock = Clock::Real();
  const SteadyTime until = clock->SteadyNow() + wait;
  std::mutex mutex;
  std::condition_variable nobody_notifies;
  std::unique_lock lock(mutex);
  while (!TryLock(file, lock_path)) {
    const SteadyTime now = clock->SteadyNow();
    if (now >= until) return false;
    clock->WaitUntil(nobody_notifies, lock, std::min<SteadyTime>(until, now + kLockPause));
  }
  return true;
}

}  // namespace

FileLock::FileLock(const std::string& path, Millis wait) {
  const std::string lock_path = path + ".lock";
  file_ = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (file_ < 0) throw StoreFailure(FileError(errno, lock_path, "open"));
  try {
    if (!LockWithin(file_, lock_path, wait)) {
      throw StoreFailure(StoreUnavailableError(
          path + " is in use by " + HolderOf(file_) +
          ": an SQLite file serves one server at a time; stop the other one, or give each its "
          "own file"));
    }
  } catch (...) {
    close(file_);
    throw;
  }
  // The number helps whoever is refused; the lock holds without it (on a full disk).
  const std::string pid = std::to_string(getpid());
  if (ftruncate(file_, 0) == 0) (void)!pwrite(file_, pid.data(), pid.size(), 0);
}

FileLock::~FileLock() { close(file_); }

std::string PrepareFile(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) throw StoreFailure(FileError(error.value(), path, "reach"));
  fs::create_directories(resolved.parent_path(), error);
  if (error) {
    throw StoreFailure(
        FileError(error.value(), resolved.parent_path().string(), "make the directory"));
  }
  const std::string file_path = resolved.string();
  // Made here, because SQLite would make it readable for all; its -wal and -shm files
  // take their mode from it. Never opened again by us: closing it would drop SQLite's locks.
  struct stat status {};
  if (stat(file_path.c_str(), &status) != 0) {
    const int file = open(file_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
    if (file < 0) throw StoreFailure(FileError(errno, file_path, "make"));
    close(file);
  } else if (S_ISDIR(status.st_mode)) {
    throw StoreFailure(StoreUnavailableError(
        file_path + " is a directory; name a file, for example " + file_path + "/snowlease.db"));
  } else if (!S_ISREG(status.st_mode)) {
    throw StoreFailure(StoreUnavailableError(file_path + " is not a regular file; name another"));
  }
  return file_path;
}

}  // namespace snowlease::storage
