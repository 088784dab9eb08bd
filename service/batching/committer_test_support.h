#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/lease.h"

// Calls for tests of GroupCommitter, and answers that a test can wait for.

namespace snowlease::service::testing {

inline storage::RenewSpec RenewOf(uint32_t machine_id, int64_t last = 0, int64_t client_time = 1000,
                                  const std::string& name_space = "a") {
  storage::RenewSpec spec;
  spec.grant = {name_space, machine_id, "i", 1};
  spec.last_timestamp = {last};
  spec.client_time = {client_time};
  return spec;
}

inline storage::ReleaseSpec ReleaseOf(uint32_t machine_id) {
  storage::ReleaseSpec spec;
  spec.grant = {"a", machine_id, "i", 1};
  return spec;
}

inline storage::ClaimSpec ClaimOf(uint8_t incarnation, const std::string& instance) {
  storage::ClaimSpec spec;
  spec.name_space = "a";
  spec.instance_id = instance;
  spec.incarnation_id[0] = incarnation;
  return spec;
}

// One answer that a test can wait for, 10 s at most; a second one fails the test.
template <typename T>
class Answer {
 public:
  std::function<void(T)> Done() {
    return [this](T result) {
      EXPECT_EQ(count_.fetch_add(1), 0) << "answered twice";
      promise_.set_value(std::move(result));
    };
  }
  bool ready() const { return count_.load() > 0; }
  T Get() {
    auto future = promise_.get_future();
    if (future.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
      ADD_FAILURE() << "no answer";
      return T(absl::DeadlineExceededError("no answer"));
    }
    return future.get();
  }

 private:
  std::atomic<int> count_{0};
  std::promise<T> promise_;
};
using LeaseAnswer = Answer<absl::StatusOr<storage::Lease>>;
using StatusAnswer = Answer<absl::Status>;
using WatermarkAnswer = Answer<absl::StatusOr<storage::WatermarkReading>>;

}  // namespace snowlease::service::testing
