#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "storage/clock.h"
#include "storage/postgres/session.h"

namespace snowlease::storage {

// At most so many sessions, opened when they are needed and kept. A session whose taker's
// deadline is long past, because the server is silent, is cut off: its call fails as with
// any lost connection. Thread-safe.
class SessionPool {
 public:
  SessionPool(std::string url, std::string where, int size, Clock* clock);
  ~SessionPool();

  // A session in use, and when it is cut off.
  struct Watch {
    int socket;
    SteadyTime until;
  };

  // A session of the caller's own; goes back to the pool, unless it broke.
  class Handle {
   public:
    Handle(SessionPool* pool, std::unique_ptr<Session> session, uint64_t generation,
           SteadyTime deadline);
    ~Handle();
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    Session* get() const { return session_.get(); }

   private:
    SessionPool* const pool_;
    std::unique_ptr<Session> session_;
    const uint64_t generation_;
    std::list<Watch>::iterator watch_;
  };

  // Waits for a session until the deadline (STORE_TIMEOUT) and connects when none is open
  // (STORE_UNAVAILABLE). Throws StoreFailure.
  Handle Take(SteadyTime deadline);
  // Closes the sessions that are open, those in use when they come back: where one has
  // lost its server the others have.
  void Forget();

 private:
  friend class Handle;
  void Return(std::unique_ptr<Session> session, uint64_t generation);
  void ReturnPlace();
  void CutOffTheSilent();  // the watchdog's thread

  const std::string url_;
  const std::string where_;
  std::mutex mutex_;
  std::condition_variable place_freed_;
  int free_places_;
  std::vector<std::unique_ptr<Session>> idle_;
  uint64_t generation_ = 0;
  std::list<Watch> watches_;
  std::condition_variable watch_changed_;
  bool ended_ = false;
  Clock* const clock_;
  std::thread watchdog_;
};

}  // namespace snowlease::storage
