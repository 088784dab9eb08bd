#include "storage/postgres/session_pool.h"

#include <sys/socket.h>

#include <algorithm>

#include "storage/errors.h"
#include "storage/lease_rows.h"

namespace snowlease::storage {
namespace {

// The server itself gives up at the deadline: this is for the one that does not.
constexpr Millis kGrace{2'000};

}  // namespace

SessionPool::SessionPool(std::string url, std::string where, int size, Clock* clock)
    : url_(std::move(url)),
      where_(std::move(where)),
      free_places_(size),
      clock_(clock),
      watchdog_([this] { CutOffTheSilent(); }) {}

SessionPool::~SessionPool() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    watch_changed_.notify_all();
  }
  watchdog_.join();
}

SessionPool::Handle::Handle(SessionPool* pool, std::unique_ptr<Session> session,
                            uint64_t generation, SteadyTime deadline)
    : pool_(pool), session_(std::move(session)), generation_(generation) {
  const std::lock_guard lock(pool_->mutex_);
  pool_->watches_.push_front({session_->socket(), deadline + kGrace});
  watch_ = pool_->watches_.begin();
  // The watchdog sleeps while nobody is watched, and else until the earliest deadline.
  if (pool_->watches_.size() == 1) pool_->watch_changed_.notify_all();
}

SessionPool::Handle::~Handle() {
  {
    const std::lock_guard lock(pool_->mutex_);
    pool_->watches_.erase(watch_);
  }
  pool_->Return(std::move(session_), generation_);
}

void SessionPool::CutOffTheSilent() {
  // Looks this often while calls run, so that they need not wake it.
  constexpr Millis kLook{500};
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const SteadyTime now = clock_->SteadyNow();
    for (Watch& watch : watches_) {
      // The socket is still the session's own: whoever closes it ends the watch before.
      if (watch.until <= now) shutdown(watch.socket, SHUT_RDWR);
    }
    clock_->WaitUntil(watch_changed_, lock, watches_.empty() ? SteadyTime::max() : now + kLook);
  }
}

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
  return {this, std::move(session), generation, deadline};
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
