#include "service/batching/answer_thread.h"

#include <utility>

namespace snowlease::service {

AnswerThread::AnswerThread(std::function<void(StoreBatch&)> deliver)
    : deliver_(std::move(deliver)), thread_([this] { Run(); }) {}

AnswerThread::~AnswerThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool AnswerThread::TryTake(std::unique_ptr<StoreBatch>* batch) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_) return false;
    busy_ = true;
    next_ = std::move(*batch);
  }
  wake_.notify_one();
  return true;
}

void AnswerThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return next_ != nullptr || stopping_; });
    if (next_ == nullptr) return;
    std::unique_ptr<StoreBatch> batch = std::move(next_);
    lock.unlock();
    deliver_(*batch);
    batch.reset();
    lock.lock();
    busy_ = false;
  }
}

}  // namespace snowlease::service
