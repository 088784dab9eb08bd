#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "service/batching/store_batch.h"

namespace snowlease::service {

// Runs the callbacks of one batch while its worker is with the store again. Takes no more
// than it can begin at once: a worker that finds it busy runs its callbacks itself, which
// also keeps a store that is faster than the callbacks from piling up answers.
// Thread-safe.
class AnswerThread {
 public:
  // `deliver` runs on the thread, once for each batch taken.
  explicit AnswerThread(std::function<void(StoreBatch&)> deliver);
  ~AnswerThread();  // delivers what was taken
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  // Takes the batch over, or leaves it in place and answers false when busy.
  bool TryTake(std::unique_ptr<StoreBatch>* batch);

 private:
  void Run();

  const std::function<void(StoreBatch&)> deliver_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::unique_ptr<StoreBatch> next_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace snowlease::service
