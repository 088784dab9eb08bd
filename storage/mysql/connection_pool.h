#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/clock.h"
#include "storage/mysql/connection.h"

namespace snowlease::storage::mysql {

// A few connections, made when they are first needed and kept; lost ones are made anew.
// Thread-safe.
class ConnectionPool {
 public:
  ConnectionPool(const MysqlOptions* options, int size, Clock* clock)
      : options_(options), size_(size), clock_(clock) {}

  // One connection out of the pool; goes back, with what is open undone, at the end.
  class Lease {
   public:
    Lease(ConnectionPool* pool, std::unique_ptr<Connection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    ~Lease() {
      if (connection_ != nullptr) pool_->GiveBack(std::move(connection_));
    }
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;

    Connection* operator->() const { return connection_.get(); }
    Connection& operator*() const { return *connection_; }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  // Waits for a free one. Throws StoreFailure: STORE_TIMEOUT when the deadline passes,
  // and what Connection throws.
  Lease Take(SteadyTime deadline);

 private:
  void GiveBack(std::unique_ptr<Connection> connection);

  const MysqlOptions* const options_;
  const int size_;
  Clock* const clock_;
  std::mutex mutex_;
  std::condition_variable freed_;
  int taken_ = 0;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace snowlease::storage::mysql
