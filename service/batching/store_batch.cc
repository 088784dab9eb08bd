#include "service/batching/store_batch.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "service/batching/pending_call.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using storage::CallOptions;
using storage::Millis;

// `waited` and the client's clock must be of the same request: the first one's.
void Prepare(storage::ClaimSpec& spec, SteadyTime::duration in_queue) {
  spec.waited += std::max(std::chrono::duration_cast<Millis>(in_queue), Millis(0));
}
template <typename Spec>
void Prepare(Spec&, SteadyTime::duration) {}

// Equal calls share an element; the answer must hold for each of them.
void Merge(storage::RenewSpec& spec, const storage::RenewSpec& other) {
  spec.last_timestamp = std::max(spec.last_timestamp, other.last_timestamp);
  spec.client_time = std::max(spec.client_time, other.client_time);
}
void Merge(storage::RaiseSpec& spec, const storage::RaiseSpec& other) {
  spec.raise_to = std::max(spec.raise_to, other.raise_to);
}
void Merge(storage::ClaimSpec&, const storage::ClaimSpec&) {}
void Merge(storage::ReleaseSpec&, const storage::ReleaseSpec&) {}

using Nanos = std::chrono::nanoseconds;

void Note(CommitObserver* observer, const storage::ClaimSpec& spec,
          const PendingClaim::Result& result, Nanos total) {
  observer->OnClaim(spec, result, total);
}
void Note(CommitObserver* observer, const storage::RenewSpec& spec,
          const PendingRenew::Result& result, Nanos total) {
  observer->OnRenew(spec, result, total);
}
void Note(CommitObserver* observer, const storage::ReleaseSpec& spec,
          const PendingRelease::Result& result, Nanos total) {
  observer->OnRelease(spec, result, total);
}
void Note(CommitObserver*, const storage::RaiseSpec&, const PendingRaise::Result&, Nanos) {}

template <typename Pending>
class TypedStoreBatch final : public StoreBatch {
 public:
  TypedStoreBatch(const Batch& batch, SteadyTime now) {
    calls_.reserve(batch.calls.size());
    for (const CallId id : batch.calls) {
      calls_.emplace_back(static_cast<Pending*>(PendingCall::Of(id)));
    }
    group_ends_ = batch.group_ends;
    specs_.reserve(group_ends_.size());
    size_t next = 0;
    for (const uint32_t end : group_ends_) {
      const Pending& first = *calls_[next];
      typename Pending::Spec& spec = specs_.emplace_back(std::move(calls_[next]->spec));
      Prepare(spec, now - first.arrived);
      for (++next; next < end; ++next) Merge(spec, calls_[next]->spec);
    }
  }

  template <typename AskStore>
  void Fill(AskStore ask_store) {
    try {
      results_ = ask_store(specs_);
    } catch (const std::exception& error) {
      Fail(std::string("the store threw an exception: ") + error.what());
      return;
    } catch (...) {
      Fail("the store threw an unknown exception");
      return;
    }
    if (results_.size() != specs_.size()) {
      Fail("the store answered " + std::to_string(results_.size()) + " of " +
           std::to_string(specs_.size()) + " elements");
    }
  }

  void SetAnswered(SteadyTime answered) { answered_ = answered; }

  size_t Deliver(CommitObserver* observer) override {
    size_t next = 0;
    for (size_t group = 0; group < group_ends_.size(); ++group) {
      for (; next < group_ends_[group]; ++next) {
        const std::unique_ptr<Pending> call = std::move(calls_[next]);
        typename Pending::Result& result = results_[group];
        if (observer != nullptr) Note(observer, specs_[group], result, answered_ - call->arrived);
        if (next + 1 == group_ends_[group]) {
          call->done(std::move(result));
        } else {
          call->done(result);
        }
      }
    }
    return next;
  }

 private:
  void Fail(const std::string& what) {
    results_.clear();
    for (size_t i = 0; i < specs_.size(); ++i) results_.emplace_back(storage::InternalError(what));
  }

  std::vector<std::unique_ptr<Pending>> calls_;
  std::vector<uint32_t> group_ends_;
  std::vector<typename Pending::Spec> specs_;
  std::vector<typename Pending::Result> results_;
  SteadyTime answered_;
};

template <typename Pending, typename AskStore>
std::unique_ptr<StoreBatch> AskAs(const Batch& batch, const storage::Clock& clock,
                                  AskStore ask_store) {
  auto typed = std::make_unique<TypedStoreBatch<Pending>>(batch, clock.SteadyNow());
  typed->Fill(ask_store);
  typed->SetAnswered(clock.SteadyNow());
  return typed;
}

}  // namespace

std::unique_ptr<StoreBatch> StoreBatch::Ask(const Batch& batch, storage::LeaseStore* store,
                                            const storage::Clock& clock, CommitObserver* observer) {
  if (observer != nullptr) observer->OnBatch(batch.kind, batch.group_ends.size());
  const CallOptions options{.deadline = batch.deadline};
  switch (batch.kind) {
    case CallKind::kClaim:
      return AskAs<PendingClaim>(batch, clock,
                                 [&](const auto& specs) { return store->Claim(specs, options); });
    case CallKind::kRelease:
      return AskAs<PendingRelease>(
          batch, clock, [&](const auto& specs) { return store->Release(specs, options); });
    case CallKind::kRaise:
      return AskAs<PendingRaise>(
          batch, clock, [&](const auto& specs) { return store->RaiseWatermark(specs, options); });
    case CallKind::kRenew:
      break;
  }
  return AskAs<PendingRenew>(batch, clock,
                             [&](const auto& specs) { return store->Renew(specs, options); });
}

}  // namespace snowlease::service
