#pragma once

#include <memory>

#include "service/batching/commit_observer.h"
#include "service/batching/group_commit_events.h"
#include "storage/clock.h"
#include "storage/lease_store.h"

namespace snowlease::service {

// The answers of one store call, with the calls that wait for them.
class StoreBatch {
 public:
  virtual ~StoreBatch() = default;

  // Builds one element per group, asks the store and keeps what it answers; an exception
  // becomes INTERNAL for all. Takes over the calls. `observer` may be null. Blocks.
  static std::unique_ptr<StoreBatch> Ask(const Batch& batch, storage::LeaseStore* store,
                                         const storage::Clock& clock, CommitObserver* observer);

  // Answers every call once, and answers how many they were.
  virtual size_t Deliver(CommitObserver* observer) = 0;
};

}  // namespace snowlease::service
