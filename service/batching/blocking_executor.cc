#include "service/batching/blocking_executor.h"

#include <algorithm>
#include <utility>

namespace snowlease::service {

BlockingExecutor::BlockingExecutor(int threads, size_t max_queue)
    : max_queue_(max_queue), idle_(static_cast<size_t>(std::max(threads, 1))) {
  for (size_t i = idle_; i > 0; --i) threads_.emplace_back([this] { RunThread(); });
}

BlockingExecutor::~BlockingExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool BlockingExecutor::TryRun(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= max_queue_ + idle_) return false;
  queue_.push_back(std::move(work));
  wake_.notify_one();
  return true;
}

void BlockingExecutor::RunThread() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !queue_.empty() || stopping_; });
    if (queue_.empty()) return;
    --idle_;
    {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
    }  // what the work holds is given back before the lock is taken again
    lock.lock();
    ++idle_;
  }
}

}  // namespace snowlease::service
