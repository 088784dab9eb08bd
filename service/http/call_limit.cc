#include "service/http/call_limit.h"

namespace snowlease::service {
namespace {

// A call that takes longer is stalled: another that waited for it would stall as well.
constexpr storage::Millis kPatience{250};

}  // namespace

std::optional<CallLimit::Place> CallLimit::Enter() {
  std::unique_lock lock(mutex_);
  while (under_way_.size() >= static_cast<size_t>(most_)) {
    if (under_way_.empty()) return std::nullopt;
    const storage::SteadyTime until = under_way_.front() + kPatience;
    if (clock_->SteadyNow() >= until) return std::nullopt;
    clock_->WaitUntil(left_, lock, until);
  }
  under_way_.push_back(clock_->SteadyNow());
  return Place(this, std::prev(under_way_.end()));
}

CallLimit::Place::~Place() {
  if (limit_ == nullptr) return;
  {
    const std::lock_guard lock(limit_->mutex_);
    limit_->under_way_.erase(since_);
  }
  limit_->left_.notify_one();
}

}  // namespace snowlease::service
