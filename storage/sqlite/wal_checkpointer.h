#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace snowlease::storage {

// Copies the write-ahead log into the database file when the log has reached
// `threshold` pages: beside the writer, on a thread and a connection of its own, so
// that no commit waits for it.
//
// A log can only start anew when all of it is copied, which under constant load never
// happens beside the writer; so after a copy the writer is asked to do the short rest.
class WalCheckpointer {
 public:
  WalCheckpointer(const std::string& path, int threshold);
  ~WalCheckpointer();

  // Called by the writer after each commit with the length of the log in pages. True:
  // the writer shall copy the rest itself, now.
  bool OnCommit(int wal_pages);

 private:
  void Run(const std::string& path);

  const int threshold_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool wanted_ = false;       // a copy, by the thread
  bool rest_wanted_ = false;  // by the writer, once the thread has made its copy
  std::thread thread_;
};

}  // namespace snowlease::storage
