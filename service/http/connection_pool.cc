#include "service/http/connection_pool.h"

#include <utility>

namespace snowlease::service {
namespace {

constexpr size_t kWaitingPerThread = 8;

}  // namespace

ConnectionPool::ConnectionPool(int threads)
    : max_waiting_(static_cast<size_t>(threads) * kWaitingPerThread) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { RunThread(); });
}

void ConnectionPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    crowded_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool ConnectionPool::TryRun(std::function<void()> serve) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || waiting_.size() >= max_waiting_) return false;
  waiting_.push_back(std::move(serve));
  crowded_ = true;
  wake_.notify_one();
  return true;
}

void ConnectionPool::RunThread() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> serve = std::move(waiting_.front());
    waiting_.pop_front();
    crowded_ = stopping_ || !waiting_.empty();
    lock.unlock();
    serve();
    lock.lock();
  }
}

}  // namespace snowlease::service
