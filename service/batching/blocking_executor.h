#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace snowlease::service {

// Runs blocking store calls (reads, admin) off the RPC threads. Bounded: up to `max_queue`
// pieces of work wait beyond those that a thread is free for. Thread-safe.
class BlockingExecutor {
 public:
  BlockingExecutor(int threads, size_t max_queue);
  ~BlockingExecutor();  // runs what was accepted, then returns
  BlockingExecutor(const BlockingExecutor&) = delete;
  BlockingExecutor& operator=(const BlockingExecutor&) = delete;

  // False, and `work` will not run, when the queue is full or the executor is stopping.
  // `work` must not throw.
  bool TryRun(std::function<void()> work);

 private:
  void RunThread();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  const size_t max_queue_;
  size_t idle_ = 0;  // threads that run nothing, those just woken included
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace snowlease::service
