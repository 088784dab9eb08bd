#pragma once

#include <string>

#include "storage/lease_rows.h"

namespace snowlease::storage::mysql {

// What may be done after a failed statement.
enum class AfterFailure : uint8_t {
  kGiveUp,      // the same would happen again
  kRepeat,      // a lock was refused: the transaction is undone and may be repeated
  kRepeatOnce,  // a lock was waited for in vain: the same, but it takes long
  kLeave,       // the connection is of no use any more; unless the commit was sent, the
                // transaction is undone and may be repeated on another connection
};

// A failed statement or connection; `status` is what the store answers if it gives up.
class DatabaseFailure : public StoreFailure {
 public:
  DatabaseFailure(absl::Status status, AfterFailure after)
      : StoreFailure(std::move(status)), after_(after) {}
  AfterFailure after() const { return after_; }

 private:
  const AfterFailure after_;
};

// What an error code of server or client library means; decided by the code alone.
// `text` is the server's message, which is told but never looked at.
// Locks and time: STORE_TIMEOUT. Connection, rights, read-only, no room, missing tables:
// STORE_UNAVAILABLE with what to do. Anything else is our own mistake: INTERNAL.
DatabaseFailure MeaningOf(unsigned code, const std::string& text, const std::string& server);

}  // namespace snowlease::storage::mysql
