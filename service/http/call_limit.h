#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>

#include "storage/clock.h"

namespace snowlease::service {

// Bounds the calls that are under way at a time, so that they leave threads for others.
// A short burst waits its turn; when even the calls under way get no answer, newcomers
// are refused at once. Thread-safe.
class CallLimit {
 public:
  CallLimit(int most, storage::Clock* clock) : most_(most), clock_(clock) {}

  // A call under way, until it is destroyed.
  class Place {
   public:
    Place(Place&& other) noexcept : limit_(other.limit_), since_(other.since_) {
      other.limit_ = nullptr;
    }
    ~Place();
    Place& operator=(Place&&) = delete;

   private:
    friend class CallLimit;
    Place(CallLimit* limit, std::list<storage::SteadyTime>::iterator since)
        : limit_(limit), since_(since) {}

    CallLimit* limit_;
    std::list<storage::SteadyTime>::iterator since_;
  };

  // None: refuse the call.
  std::optional<Place> Enter();

  int most() const { return most_; }

 private:
  const int most_;
  storage::Clock* const clock_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::list<storage::SteadyTime> under_way_;  // oldest first
};

}  // namespace snowlease::service
