#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace snowlease::service {

// A bounded number of threads that serve connections, and a bounded number of
// connections that wait for one. Thread-safe.
class ConnectionPool {
 public:
  explicit ConnectionPool(int threads);
  ~ConnectionPool() { Stop(); }

  // Runs `serve` on one of the threads; false: too many wait, refuse the connection.
  bool TryRun(std::function<void()> serve);
  // Others wait for a thread, or the pool is stopping: connections whose request is
  // slow in coming are to give up theirs.
  bool Crowded() const { return crowded_; }
  // Serves what is waiting, then returns. Idempotent.
  void Stop();

 private:
  void RunThread();

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::atomic<bool> crowded_{false};
  std::vector<std::thread> threads_;
};

}  // namespace snowlease::service
