#pragma once

#include <string>

#include "storage/time_point.h"

namespace snowlease::storage {

// The right to be the only server on a database file: flock on PATH.lock. The kernel
// lets go of it when the process dies, however it dies.
class FileLock {
 public:
  // Waits for the holder up to `wait` of real time. Throws StoreFailure
  // (STORE_UNAVAILABLE that names the file and the holder).
  FileLock(const std::string& path, Millis wait);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_ = -1;
};

// Makes the directories and an empty file of mode 0600 when they are missing; answers
// the path with links resolved, so that one file has one lock. Throws StoreFailure
// (STORE_UNAVAILABLE: a directory, no right).
std::string PrepareFile(const std::string& path);

}  // namespace snowlease::storage
