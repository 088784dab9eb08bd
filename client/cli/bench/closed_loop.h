#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "snowlease/clock.h"
#include "snowlease/grpc.h"
#include "snowlease/v1/machine_id.grpc.pb.h"

namespace snowlease::cli {

using Stubs = std::vector<std::unique_ptr<v1::MachineIdService::Stub>>;

// Keeps a number of unary calls of one kind outstanding: each slot begins its next
// call when its last one is answered. Messages are reused. The functions are called
// on gRPC's threads, for different slots at the same time.
template <typename Request, typename Response>
class ClosedLoop {
 public:
  using Finish = std::function<void(grpc::Status)>;
  using Start = std::function<void(v1::MachineIdService::Stub&, grpc::ClientContext*,
                                   const Request*, Response*, Finish)>;
  // Fills the slot's next request, which still holds the last one; false ends the slot.
  using Next = std::function<bool(size_t slot, Request&)>;
  using Done = std::function<void(size_t slot, const absl::Status&, const Response&,
                                  std::chrono::nanoseconds latency)>;

  ClosedLoop(const Stubs& stubs, size_t slots, std::chrono::milliseconds timeout,
             client::Clock* clock, Start start, Next next, Done done)
      : timeout_(timeout),
        clock_(clock),
        start_(std::move(start)),
        next_(std::move(next)),
        done_(std::move(done)),
        slots_(slots) {
    for (size_t i = 0; i < slots; ++i) slots_[i].stub = stubs[i % stubs.size()].get();
  }

  void Begin() {
    active_ = slots_.size();
    for (size_t i = 0; i < slots_.size(); ++i) Go(i);
  }

  // Until all slots have ended; the loop must live that long.
  bool running() const { return active_.load(std::memory_order_acquire) > 0; }

 private:
  struct Slot {
    v1::MachineIdService::Stub* stub = nullptr;
    std::optional<grpc::ClientContext> context;
    Request request;
    Response response;
    std::chrono::nanoseconds begun{0};
  };

  void Go(size_t index) {
    Slot& slot = slots_[index];
    if (!next_(index, slot.request)) {
      active_.fetch_sub(1, std::memory_order_release);
      return;
    }
    slot.context.emplace();
    slot.context->set_deadline(client::DeadlineIn(timeout_));
    slot.begun = clock_->SteadyNow();
    start_(*slot.stub, &*slot.context, &slot.request, &slot.response,
           [this, index](grpc::Status status) { Answered(index, status); });
  }

  void Answered(size_t index, const grpc::Status& status) {
    Slot& slot = slots_[index];
    const auto latency = clock_->SteadyNow() - slot.begun;
    done_(index, client::FromGrpcStatus(status, *slot.context), slot.response, latency);
    Go(index);
  }

  const std::chrono::milliseconds timeout_;
  client::Clock* const clock_;
  const Start start_;
  const Next next_;
  const Done done_;
  std::vector<Slot> slots_;
  std::atomic<size_t> active_{0};
};

}  // namespace snowlease::cli
