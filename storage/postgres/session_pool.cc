#include "storage/postgres/session_pool.h"

#include "storage/errors.h"
#include "storage/lease_rows.h"

namespace snowlease::storage {

SessionPool::Handle SessionPool::Take(SteadyTime deadline) {
  std::unique_ptr<Session> session;
  uint64_t generation = 0;
  {
    std::unique_lock lock(mutex_);
    while (free_places_ == 0) {
      if (clock_->SteadyNow() >= deadline) {
        throw StoreFailure(
            StoreTimeoutError("the deadline passed while other calls were using the store"));
      }
      clock_->WaitUntil(place_freed_, lock, deadline);
    }
    --free_places_;
    generation = generation_;
    if (!idle_.empty()) {
      session = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  try {
    if (session == nullptr) session = std::make_unique<Session>(url_, where_);
  } catch (...) {
    ReturnPlace();
    throw;
  }
  return {this, std::move(session), generation};
}

void SessionPool::Forget() {
  std::vector<std::unique_ptr<Session>> closed;
  const std::lock_guard lock(mutex_);
  ++generation_;
  closed.swap(idle_);
}

void SessionPool::Return(std::unique_ptr<Session> session, uint64_t generation) {
  {
    const std::lock_guard lock(mutex_);
    if (session->usable() && generation == generation_) idle_.push_back(std::move(session));
  }
  session.reset();
  ReturnPlace();
}

void SessionPool::ReturnPlace() {
  const std::lock_guard lock(mutex_);
  ++free_places_;
  place_freed_.notify_one();
}

}  // namespace snowlease::storage
