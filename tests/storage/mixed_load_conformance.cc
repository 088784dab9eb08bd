#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/storage/grant_history.h"
#include "tests/storage/lease_store_conformance.h"

// 64 threads that claim, renew, raise, release, crash, come back with and without
// proof, go on as zombies and are forced out, in a namespace of 16 ids.

namespace snowlease::testing {
namespace {

using Kind = HistoryEvent::Kind;
using SteadyClock = std::chrono::steady_clock;

constexpr int kThreads = 64;
constexpr int kBits = 4;
constexpr int kMostSteps = 1500;
constexpr std::chrono::seconds kDuration{3};

struct Shared {
  StoreHarness& harness;
  const SteadyClock::time_point until;
  std::atomic<int64_t> counter{1};
  std::atomic<int> store_errors{0};
};

// What a process knows of a grant it got.
struct Grip {
  Lease lease;
  ClientTime window_end;
  ClientTime issued;  // highest timestamp used; the floor when none
};

class Worker {
 public:
  Worker(Shared& shared, int number)
      : shared_(shared),
        store_(number % 2 == 0 ? shared.harness.store() : shared.harness.second()),
        name_("w" + std::to_string(number)),
        random_(static_cast<uint32_t>(number) + 1),
        skew_(static_cast<int64_t>(random_() % 601) - 300) {}

  void Run() {
    for (int step = 0; step < kMostSteps && SteadyClock::now() < shared_.until; ++step) Step();
  }
  const std::vector<HistoryEvent>& history() const { return history_; }

 private:
  bool OneIn(uint32_t n) { return random_() % n == 0; }
  ClientTime Clock() { return shared_.harness.Now() + Millis(skew_); }

  void Step() {
    // Time passes with the work, so that the leases of the crashed expire.
    if (shared_.harness.AdvancesUnderLoad() && OneIn(4)) shared_.harness.Advance(Millis(20));
    if (zombie_ && OneIn(4)) {
      Use(*zombie_);
      if (zombie_ && OneIn(3)) zombie_.reset();
      return;
    }
    if (!grip_) return TryClaim();
    switch (random_() % 16) {
      case 0:
        return TryRelease(Clean());
      case 1:
        return TryRelease(std::nullopt);
      case 2:  // a crash: nobody renews any more, but a zombie may
        zombie_ = std::exchange(grip_, std::nullopt);
        return;
      case 3:
        return TryForce();
      case 4:
        return TryRaise();
      default:
        return Use(*grip_);
    }
  }

  std::optional<ClientTime> Clean() { return grip_->issued; }

  HistoryEvent Begin(Kind kind, const GrantKey& grant) {
    HistoryEvent event;
    event.kind = kind;
    event.instance = name_;
    event.machine_id = grant.machine_id;
    event.token = grant.token;
    event.start = shared_.counter++;
    return event;
  }
  void End(HistoryEvent event) {
    event.end = shared_.counter++;
    history_.push_back(std::move(event));
  }

  // LOST is told; other errors must not come from a healthy store.
  bool EndedInError(const absl::Status& status, HistoryEvent event) {
    if (status.ok()) return false;
    if (storage::ReasonOf(status) == Reason::kMachineIdLost) {
      event.kind = Kind::kLost;
      End(std::move(event));
    } else {
      ++shared_.store_errors;
    }
    return true;
  }

  void Forget(const GrantKey& grant) {
    if (grip_ && KeyOf(grip_->lease) == grant) grip_.reset();
    if (zombie_ && KeyOf(zombie_->lease) == grant) zombie_.reset();
  }

  ClaimSpec MakeSpec() {
    ClaimSpec spec;
    spec.name_space = kOrders;
    spec.instance_id = name_;
    spec.incarnation_id = NewIncarnation();
    spec.machine_bits = kBits;
    spec.stable = OneIn(10);
    spec.safe_guard = Millis(1000 + static_cast<int64_t>(random_() % 3) * 1000);
    spec.client_time = Clock();
    spec.max_wait = kMaxWait;
    if (zombie_ && OneIn(2)) {
      // Only who is sure that the predecessor is dead has its proof.
      spec.proof = ProofOf(zombie_->lease, zombie_->issued);
      zombie_.reset();
    }
    return spec;
  }

  void TryClaim() {
    const ClaimSpec spec = MakeSpec();
    const int copies = OneIn(8) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      HistoryEvent event = Begin(Kind::kClaim, {});
      const absl::StatusOr<Lease> lease = store_.Claim({&spec, 1}, {}).front();
      if (!lease.ok()) {
        const Reason reason = storage::ReasonOf(lease.status());
        const bool expected = reason == Reason::kMachineIdOverflow ||
                              reason == Reason::kClockBehind || reason == Reason::kWindowOpen;
        if (!expected) ++shared_.store_errors;
        return;
      }
      event.machine_id = lease->row.machine_id;
      event.token = lease->row.token;
      event.incarnation = spec.incarnation_id;
      event.floor = lease->row.floor;
      event.window_end = *lease->row.window_end;
      event.watermark = lease->row.watermark;
      event.with_proof = spec.proof.has_value();
      End(std::move(event));
      grip_ = Grip{*lease, *lease->row.window_end, lease->row.floor};
    }
  }

  // Issues an id where the window and the clock allow, and renews.
  void Use(Grip& grip) {
    const GrantKey grant = KeyOf(grip.lease);
    const ClientTime now = Clock();
    if (now > grip.issued && now <= grip.window_end) {
      HistoryEvent issue = Begin(Kind::kIssue, grant);
      issue.timestamp = now;
      grip.issued = now;
      End(std::move(issue));
    }
    HistoryEvent event = Begin(Kind::kUse, grant);
    event.timestamp = grip.issued;
    const RenewSpec renewal{grant, grip.issued, now};
    const absl::StatusOr<Lease> renewed = store_.Renew({&renewal, 1}, {}).front();
    if (EndedInError(renewed.status(), event)) return Forget(grant);
    event.window_end = *renewed->row.window_end;
    event.watermark = renewed->row.watermark;
    grip.window_end = *renewed->row.window_end;
    End(std::move(event));
  }

  void TryRaise() {
    const GrantKey grant = KeyOf(grip_->lease);
    HistoryEvent event = Begin(Kind::kUse, grant);
    event.timestamp = grip_->issued;
    event.window_end = grip_->window_end;
    const storage::RaiseSpec raise{grant, grip_->issued};
    const auto raised = store_.RaiseWatermark({&raise, 1}, {}).front();
    if (EndedInError(raised.status(), event)) return Forget(grant);
    event.watermark = raised->watermark;
    End(std::move(event));
  }

  void TryRelease(std::optional<ClientTime> last) {
    const GrantKey grant = KeyOf(grip_->lease);
    const bool abandon = last == grip_->lease.row.floor && OneIn(2);
    grip_.reset();
    HistoryEvent event = Begin(Kind::kRelease, grant);
    event.clean = last.has_value();
    const ReleaseSpec release{grant, last, abandon};
    if (EndedInError(store_.Release({&release, 1}, {}).front(), event)) return;
    End(std::move(event));
  }

  // An operator forces somebody's lease, or at least the one seen in the list.
  void TryForce() {
    const auto leases = store_.ListLeases(kOrders, {}, random_() % (1 << kBits), 1);
    if (!leases.ok()) ++shared_.store_errors;
    if (!leases.ok() || leases->empty()) return;
    const LeaseRow& row = leases->front().row;
    if (row.state != LeaseState::kHeld) return;
    HistoryEvent event = Begin(Kind::kForce, {kOrders, row.machine_id, name_, row.token});
    const auto floor =
        store_.ForceRelease({kOrders, row.machine_id, row.token, std::nullopt}, {"op", "test"});
    if (floor.ok()) {
      End(std::move(event));
    } else if (storage::ReasonOf(floor.status()) != Reason::kMachineIdLost) {
      ++shared_.store_errors;
    }
  }

  Shared& shared_;
  storage::LeaseStore& store_;
  const std::string name_;
  std::mt19937 random_;
  const int64_t skew_;
  std::optional<Grip> grip_;
  std::optional<Grip> zombie_;
  std::vector<HistoryEvent> history_;
};

TEST_P(LeaseStoreConformance, MixedLoadOf64ThreadsHasASequentialExplanation) {
  // A store with a server of its own is slower, and gets more time.
  const bool is_slow = harness().Rounds(100) < 100;
  Shared shared{harness(), SteadyClock::now() + (is_slow ? 2 : 1) * kDuration};
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(shared, i);
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&worker] { worker.Run(); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(shared.store_errors, 0);
  std::vector<HistoryEvent> history;
  std::map<Kind, int> seen;
  for (const Worker& worker : workers) {
    for (const HistoryEvent& event : worker.history()) {
      history.push_back(event);
      ++seen[event.kind];
    }
  }
  const std::vector<std::string> contradictions = FindContradictions(history);
  for (size_t i = 0; i < std::min<size_t>(contradictions.size(), 20); ++i) {
    ADD_FAILURE() << contradictions[i];
  }
  // The load was a mix indeed.
  EXPECT_GT(seen[Kind::kLost], harness().Rounds(40));
  for (const Kind kind : {Kind::kClaim, Kind::kUse, Kind::kRelease, Kind::kIssue}) {
    EXPECT_GT(seen[kind], harness().Rounds(100)) << "kind " << static_cast<int>(kind);
  }
  EXPECT_GT(seen[Kind::kForce], harness().Rounds(10));
  for (const LeaseRow& row : Rows()) EXPECT_LT(row.machine_id, 1u << kBits);
}

}  // namespace
}  // namespace snowlease::testing
