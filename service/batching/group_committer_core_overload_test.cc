#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "service/batching/core_harness.h"
#include "service/batching/group_committer_core.h"

// A store of fixed speed in virtual time: what comes out when too much comes in.

namespace snowlease::service {
namespace {

using std::chrono::microseconds;
using storage::Millis;

struct StoreSpeed {
  std::string name;
  microseconds per_batch;
  microseconds per_element;
};

class OverloadSimulation {
 public:
  OverloadSimulation(const StoreSpeed& speed, const CoreOptions& options)
      : speed_(speed), options_(options), core_(options) {}

  // Calls a second that the store can answer.
  double Peak() const {
    const auto batch = speed_.per_batch + options_.max_batch * speed_.per_element;
    return static_cast<double>(options_.max_batch) * 1e6 / static_cast<double>(batch.count());
  }

  struct Tally {
    size_t offered = 0;
    size_t good = 0;  // answered before the deadline
    size_t late = 0;
    size_t refused = 0;
    size_t expired = 0;
    microseconds worst{0};
    microseconds longest_wait_of_quiet{0};
    size_t quiet_refused = 0;
  };

  // Offers `rate` calls a second for `length`, each about a lease of its own; one of a
  // hundred is of another namespace than the rest.
  Tally Offer(double rate, Millis length, Millis patience) {
    tally_ = Tally();
    const microseconds gap(std::max<int64_t>(1, std::llround(1e6 / rate)));
    const SteadyTime end = now_ + length;
    while (now_ + gap <= end) {
      RunUntil(now_ + gap);
      Arrive(patience);
    }
    RunUntil(end);
    return tally_;
  }

  SteadyTime now() const { return now_; }

  // Returns the pushback when the call is refused.
  std::optional<Millis> Arrive(Millis patience) {
    const CallId id = ++last_id_;
    const bool quiet = id % 100 == 0;
    ++tally_.offered;
    Actions actions;
    core_.Step(now_,
               CallArrived{id, CallKind::kRenew,
                           CallKey{.name_space = quiet ? "quiet" : "hot",
                                   .instance_id = "i",
                                   .machine_id = static_cast<uint32_t>(id),
                                   .token = 1},
                           now_ + patience},
               &actions);
    Note(actions);
    if (actions.rejection) {
      ++tally_.refused;
      if (quiet) ++tally_.quiet_refused;
      return actions.rejection->pushback;
    }
    calls_.emplace(id, CallTimes{now_, now_ + patience});
    return std::nullopt;
  }

  void RunUntil(SteadyTime until) {
    while (under_way_ && ends_ <= until) {
      now_ = ends_;
      for (const CallId id : under_way_->calls) Answer(id);
      under_way_.reset();
      Actions actions;
      core_.Step(now_, BatchDone{0}, &actions);
      Note(actions);
    }
    now_ = until;
  }

  const Tally& tally() const { return tally_; }

 private:
  struct CallTimes {
    SteadyTime arrived;
    SteadyTime deadline;
  };

  void Answer(CallId id) {
    const CallTimes call = calls_.at(id);
    calls_.erase(id);
    ++(now_ <= call.deadline ? tally_.good : tally_.late);
    const auto took = std::chrono::duration_cast<microseconds>(now_ - call.arrived);
    tally_.worst = std::max(tally_.worst, took);
    if (id % 100 == 0) {
      tally_.longest_wait_of_quiet = std::max(tally_.longest_wait_of_quiet, took);
    }
  }

  void Note(const Actions& actions) {
    for (const CallId id : actions.expired) {
      ++tally_.expired;
      calls_.erase(id);
    }
    if (!actions.batch) return;
    under_way_ = actions.batch;
    ends_ = now_ + speed_.per_batch + actions.batch->group_ends.size() * speed_.per_element;
  }

  const StoreSpeed speed_;
  const CoreOptions options_;
  GroupCommitterCore core_;
  SteadyTime now_{std::chrono::hours(1)};
  CallId last_id_ = 0;
  std::map<CallId, CallTimes> calls_;
  std::optional<Batch> under_way_;
  SteadyTime ends_;
  Tally tally_;
};

class OverloadTest : public ::testing::TestWithParam<StoreSpeed> {};

TEST_P(OverloadTest, TenTimesTheCapacityKeepsGoodputNearPeakAndRecovers) {
  OverloadSimulation simulation(GetParam(), {});
  const double peak = simulation.Peak();
  const Millis patience(2000);
  simulation.Offer(peak / 2, Millis(2000), patience);

  const auto overload = simulation.Offer(10 * peak, Millis(10'000), patience);
  EXPECT_GE(static_cast<double>(overload.good) / 10, 0.8 * peak);
  EXPECT_GT(overload.refused, overload.offered / 2);
  // Before the first full batch has shown how slow the store is, some are accepted in vain.
  EXPECT_LE(overload.expired + overload.late, overload.offered / 50);
  EXPECT_EQ(overload.quiet_refused, 0u) << "the flood of one namespace refused another's calls";

  simulation.Offer(peak / 2, Millis(5000), patience);  // time to recover
  const auto after = simulation.Offer(peak / 2, Millis(2000), patience);
  EXPECT_EQ(after.refused + after.expired + after.late, 0u);
  // A batch under way and the one that the call is in.
  EXPECT_LE(after.worst, 2 * (GetParam().per_batch + 512 * GetParam().per_element));
}

TEST_P(OverloadTest, QuietNamespaceIsServedInTheNextBatchesOfAFlood) {
  OverloadSimulation simulation(GetParam(), {});
  const auto overload = simulation.Offer(10 * simulation.Peak(), Millis(10'000), Millis(5000));
  EXPECT_LE(overload.longest_wait_of_quiet,
            3 * (GetParam().per_batch + 512 * GetParam().per_element));
}

// Callers that come at once and come back when told to.
TEST_P(OverloadTest, HerdThatHonoursPushbackIsServedNearThePeak) {
  OverloadSimulation simulation(GetParam(), {});
  const auto herd = static_cast<size_t>(4 * simulation.Peak());
  using Time = SteadyTime;
  std::priority_queue<Time, std::vector<Time>, std::greater<>> callers;
  for (size_t i = 0; i < herd; ++i) callers.push(simulation.now());
  const SteadyTime start = simulation.now();
  size_t attempts = 0;
  while (!callers.empty()) {
    const SteadyTime at = callers.top();
    callers.pop();
    simulation.RunUntil(std::max(at, simulation.now()));
    ++attempts;
    if (const auto pushback = simulation.Arrive(Millis(60'000))) callers.push(at + *pushback);
  }
  while (simulation.tally().good < herd) simulation.RunUntil(simulation.now() + Millis(10));
  const double seconds = std::chrono::duration<double>(simulation.now() - start).count();
  EXPECT_LE(seconds, 4 / 0.8);
  EXPECT_LE(attempts, 10 * herd);
}

INSTANTIATE_TEST_SUITE_P(
    Stores, OverloadTest,
    ::testing::Values(StoreSpeed{"Fast", microseconds(1000), microseconds(30)},
                      StoreSpeed{"Usual", microseconds(2000), microseconds(80)},
                      StoreSpeed{"Slow", microseconds(10'000), microseconds(600)}),
    [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace snowlease::service
