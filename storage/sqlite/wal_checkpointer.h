#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "storage/clock.h"

namespace snowlease::storage {

// Copies the write-ahead log into the database file, beside the writer: on a thread
// and a connection of its own, so that no commit waits for it. It runs when the log
// has reached `threshold` pages, and when the store has been idle for a second.
//
// A log can only start anew when all of it is copied, which under constant load never
// happens beside the writer; so after a copy the writer is asked to do the short rest.
class WalCheckpointer {
 public:
  // Throws StoreFailure. The clock must outlive it.
  WalCheckpointer(const std::string& path, int threshold, Clock* clock);
  ~WalCheckpointer();

  // Called by the writer after each commit with the length of the log in pages. True:
  // the writer shall copy the rest itself, now.
  bool OnCommit(int wal_pages);

 private:
  void Run(const std::string& path);

  const int threshold_;
  Clock* const clock_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool wanted_ = false;       // the log is long
  bool dirty_ = false;        // commits since the last copy
  bool rest_wanted_ = false;  // a copy of a long log has been made
  SteadyTime last_commit_;
  std::thread thread_;
};

}  // namespace snowlease::storage
