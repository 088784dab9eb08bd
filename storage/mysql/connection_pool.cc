#include "storage/mysql/connection_pool.h"

#include "storage/errors.h"

namespace snowlease::storage::mysql {

ConnectionPool::Lease ConnectionPool::Take(SteadyTime deadline) {
  std::unique_ptr<Connection> connection;
  {
    std::unique_lock lock(mutex_);
    while (taken_ == size_) {
      if (clock_->SteadyNow() >= deadline) {
        throw StoreFailure(
            StoreTimeoutError("the deadline passed while other calls were using the store"));
      }
      clock_->WaitUntil(freed_, lock, deadline);
    }
    ++taken_;
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  try {
    if (connection == nullptr) connection = std::make_unique<Connection>(*options_);
  } catch (...) {
    GiveBack(nullptr);
    throw;
  }
  return {this, std::move(connection)};
}

void ConnectionPool::GiveBack(std::unique_ptr<Connection> connection) {
  if (connection != nullptr && connection->in_transaction() && !connection->lost()) {
    connection->Rollback();
  }
  std::vector<std::unique_ptr<Connection>> dropped;
  const std::lock_guard lock(mutex_);
  --taken_;
  if (connection != nullptr && connection->lost()) {
    // What ended this one, a restart or a failover, has most likely ended the others.
    dropped.swap(idle_);
    dropped.push_back(std::move(connection));
  } else if (connection != nullptr) {
    idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

}  // namespace snowlease::storage::mysql
