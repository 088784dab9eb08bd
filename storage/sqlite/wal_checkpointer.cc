#include "storage/sqlite/wal_checkpointer.h"

#include <sqlite3.h>

#include "storage/sqlite/connection.h"

namespace snowlease::storage {
namespace {

constexpr Millis kIdle{1'000};
// A log this many times too long is copied by the writer whatever the thread does.
constexpr int kBackstop = 4;

}  // namespace

WalCheckpointer::WalCheckpointer(const std::string& path, int threshold, Clock* clock)
    : threshold_(threshold), clock_(clock), last_commit_(clock->SteadyNow()) {
  thread_ = std::thread([this, path] { Run(path); });
}

WalCheckpointer::~WalCheckpointer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  thread_.join();
}

bool WalCheckpointer::OnCommit(int wal_pages) {
  const std::lock_guard lock(mutex_);
  last_commit_ = clock_->SteadyNow();
  if (!dirty_) wake_.notify_all();
  dirty_ = true;
  if (wal_pages < threshold_) return false;
  if (rest_wanted_ || wal_pages / kBackstop >= threshold_) {
    rest_wanted_ = false;
    return true;
  }
  if (!wanted_) wake_.notify_all();
  wanted_ = true;
  return false;
}

void WalCheckpointer::Run(const std::string& path) {
  std::unique_ptr<Connection> connection;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool idle = dirty_ && clock_->SteadyNow() >= last_commit_ + kIdle;
    if (!wanted_ && !idle) {
      if (dirty_) {
        clock_->WaitUntil(wake_, lock, last_commit_ + kIdle);
      } else {
        wake_.wait(lock);
      }
      continue;
    }
    const bool was_wanted = wanted_;
    dirty_ = false;
    lock.unlock();
    // A copy that fails (no room, a reader in the way) is made up for by a later one,
    // in the end by the writer's own.
    try {
      if (connection == nullptr) {
        connection = std::make_unique<Connection>(path, Connection::Access::kReadWrite);
      }
      sqlite3_wal_checkpoint_v2(connection->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                                nullptr);
    } catch (const StoreFailure&) {
    }
    lock.lock();
    if (was_wanted) {
      wanted_ = false;
      rest_wanted_ = true;
    }
  }
}

}  // namespace snowlease::storage
