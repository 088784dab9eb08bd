#include "storage/sqlite/wal_checkpointer.h"

#include <sqlite3.h>

#include <memory>

#include "storage/sqlite/connection.h"

namespace snowlease::storage {
namespace {

// A log this many times too long is copied by the writer whatever the thread does.
constexpr int kBackstop = 4;

// A copy that fails (no room, a reader in the way) is made up for by a later one.
void Copy(std::unique_ptr<Connection>& connection, const std::string& path) {
  try {
    if (connection == nullptr) {
      auto opened = std::make_unique<Connection>(path, Connection::Access::kReadWrite);
      // A connection that has read nothing knows of no log and would copy nothing.
      opened->Execute("SELECT count(*) FROM sqlite_master");
      connection = std::move(opened);
    }
    sqlite3_wal_checkpoint_v2(connection->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                              nullptr);
  } catch (const StoreFailure&) {
  }
}

}  // namespace

WalCheckpointer::WalCheckpointer(const std::string& path, int threshold) : threshold_(threshold) {
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
  if (wal_pages < threshold_) return false;
  const std::lock_guard lock(mutex_);
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
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || wanted_; });
    if (stopping_) return;
    lock.unlock();
    Copy(connection, path);
    lock.lock();
    wanted_ = false;
    rest_wanted_ = true;
  }
}

}  // namespace snowlease::storage
