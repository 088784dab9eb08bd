#include <atomic>
#include <functional>
#include <latch>
#include <set>
#include <thread>

#include "tests/storage/lease_store_conformance.h"

// Many threads that want the same at the same moment.

namespace snowlease::testing {
namespace {

// Runs `work(i)` on `count` threads that start together.
void Race(int count, const std::function<void(int)>& work) {
  std::latch start(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Claims all specs at once, each on a thread of its own, over both handles.
std::vector<absl::StatusOr<Lease>> ClaimAtOnce(StoreHarness& harness,
                                               const std::vector<ClaimSpec>& specs) {
  std::vector<absl::StatusOr<Lease>> results(specs.size());
  Race(static_cast<int>(specs.size()), [&](int i) {
    storage::LeaseStore& store = i % 2 == 0 ? harness.store() : harness.second();
    results[i] = store.Claim({&specs[i], 1}, {}).front();
  });
  return results;
}

struct Outcome {
  std::set<uint32_t> ids;
  int granted = 0;
  int overflows = 0;
};

Outcome OutcomeOf(const std::vector<absl::StatusOr<Lease>>& results) {
  Outcome outcome;
  for (const absl::StatusOr<Lease>& result : results) {
    if (result.ok()) {
      ++outcome.granted;
      outcome.ids.insert(result->row.machine_id);
    } else {
      EXPECT_THAT(result, HasReason(Reason::kMachineIdOverflow));
      ++outcome.overflows;
    }
  }
  return outcome;
}

// O1
TEST_P(LeaseStoreConformance, ThreadsRacingForAsManyIdsAllGetOne) {
  for (int round = 0; round < 20; ++round) {
    std::vector<ClaimSpec> specs;
    for (int i = 0; i < 16; ++i) {
      specs.push_back(Spec("i" + std::to_string(i), 4));
      specs.back().name_space = "race" + std::to_string(round);
    }
    const Outcome outcome = OutcomeOf(ClaimAtOnce(harness(), specs));
    EXPECT_EQ(outcome.ids.size(), 16u);
    EXPECT_EQ(outcome.overflows, 0);
  }
}

// O1: exactly one is left over.
TEST_P(LeaseStoreConformance, ThreadsRacingForOneIdLessLeaveExactlyOneOverflow) {
  for (int round = 0; round < 20; ++round) {
    storage::NamespaceUpdate update;
    update.name = "race" + std::to_string(round);
    update.machine_bits = 4;
    update.allow_missing = true;
    Updated(update);
    const std::vector<uint32_t> reserved = {static_cast<uint32_t>(round % 16)};
    ASSERT_THAT(store().ReserveIds(update.name, reserved, kOperator), IsOk());
    std::vector<ClaimSpec> specs;
    for (int i = 0; i < 16; ++i) {
      specs.push_back(Spec("i" + std::to_string(i), 4));
      specs.back().name_space = update.name;
    }
    const Outcome outcome = OutcomeOf(ClaimAtOnce(harness(), specs));
    EXPECT_EQ(outcome.ids.size(), 15u);
    EXPECT_EQ(outcome.granted, 15);
    EXPECT_EQ(outcome.overflows, 1);
  }
}

// The same over released, expired and never-used ids at once.
TEST_P(LeaseStoreConformance, ThreadsRacingOverAllSourcesShareThemOut) {
  const std::vector<Lease> dead = ClaimedMany("dead", 5, 4, kMinute);
  const std::vector<Lease> gone = ClaimedMany("gone", 5, 4, kMinute);
  Advance(kMinute);
  for (const Lease& lease : gone) Released(KeyOf(lease), Now());
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 17; ++i) specs.push_back(Spec("i" + std::to_string(i), 4));
  const auto results = ClaimAtOnce(harness(), specs);
  const Outcome outcome = OutcomeOf(results);
  EXPECT_EQ(outcome.ids.size(), 16u);
  EXPECT_EQ(outcome.overflows, 1);
  int by_source[5] = {};
  for (const auto& result : results) {
    if (result.ok()) ++by_source[static_cast<int>(result->row.source)];
  }
  EXPECT_EQ(by_source[static_cast<int>(LeaseSource::kReleased)], 5);
  EXPECT_EQ(by_source[static_cast<int>(LeaseSource::kNew)], 6);
  EXPECT_EQ(by_source[static_cast<int>(LeaseSource::kExpired)], 5);
}

// F34
TEST_P(LeaseStoreConformance, FiftyThreadsOnAHundredExpiredLeasesGetFiftyIds) {
  storage::NamespaceUpdate update;
  update.name = kOrders;
  update.machine_bits = 7;
  update.allow_missing = true;
  Updated(update);
  std::vector<uint32_t> reserved;
  for (uint32_t id = 100; id < 128; ++id) reserved.push_back(id);
  ASSERT_THAT(store().ReserveIds(kOrders, reserved, kOperator), IsOk());
  ClaimedMany("dead", 100, 7);
  Advance(kSafeGuard);
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 50; ++i) specs.push_back(Spec("i" + std::to_string(i), 7));
  const Outcome outcome = OutcomeOf(ClaimAtOnce(harness(), specs));
  EXPECT_EQ(outcome.ids.size(), 50u);
  EXPECT_EQ(outcome.overflows, 0);
}

// F37
TEST_P(LeaseStoreConformance, TwoHundredThreadsOnAnEmptyStoreGetTwoHundredIds) {
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 200; ++i) specs.push_back(Spec("i" + std::to_string(i)));
  const Outcome outcome = OutcomeOf(ClaimAtOnce(harness(), specs));
  EXPECT_EQ(outcome.ids.size(), 200u);
  EXPECT_EQ(*outcome.ids.rbegin(), 199u) << "numbers are used without gaps";
  EXPECT_EQ(Namespace().counts.held, 200u);
}

// F21: copies of one claim that arrive together are one grant.
TEST_P(LeaseStoreConformance, CopiesOfOneClaimAtOnceAreOneGrant) {
  const std::vector<ClaimSpec> specs(16, Spec("a"));
  for (const auto& result : ClaimAtOnce(harness(), specs)) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->row.machine_id, 0u);
    EXPECT_EQ(result->row.token, 1u);
  }
  EXPECT_EQ(Rows().size(), 1u);
}

// H1: many processes with one identity, one of them holds in the end.
TEST_P(LeaseStoreConformance, ManyTwinsAtOnceLeaveOneHolder) {
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < 16; ++i) specs.push_back(Spec("twin"));
  const auto results = ClaimAtOnce(harness(), specs);
  int holders = 0;
  for (const auto& result : results) {
    ASSERT_THAT(result, IsOk());
    if (Renew(KeyOf(*result)).ok()) ++holders;
  }
  EXPECT_EQ(holders, 1);
  EXPECT_EQ(Namespace().counts.held, 1u);
}

// One takeover: of the holder's renewal and a claim, only one can succeed.
TEST_P(LeaseStoreConformance, RenewalAndTakeoverAtOnceHaveOneWinner) {
  for (int round = 0; round < 50; ++round) {
    const std::string name = std::to_string(round);
    const Lease holder = Claimed(Spec("holder" + name, 1));
    const Lease other = Claimed(StableSpec("other", 1));
    Advance(kSafeGuard);
    const ClaimSpec spec = Spec("taker" + name, 1);
    absl::StatusOr<Lease> renewed;
    absl::StatusOr<Lease> taken;
    Race(2, [&](int i) {
      if (i == 0) {
        const RenewSpec renewal{KeyOf(holder), {}, Now()};
        renewed = harness().second().Renew({&renewal, 1}, {}).front();
      } else {
        taken = store().Claim({&spec, 1}, {}).front();
      }
    });
    ASSERT_NE(renewed.ok(), taken.ok());
    if (taken.ok()) {
      EXPECT_THAT(renewed, HasLossCause(EndCause::kTakenOver));
    } else {
      EXPECT_THAT(taken, HasReason(Reason::kMachineIdOverflow));
    }
    Released(KeyOf(taken.ok() ? *taken : holder), Now());
    Released(KeyOf(other), Now());
  }
}

// F33, F36: no BUSY and no deadlock reaches a caller.
TEST_P(LeaseStoreConformance, FiftyThreadsOfAThousandOperationsMeetNoStoreError) {
  std::atomic<int> failures{0};
  Race(50, [&](int i) {
    storage::LeaseStore& mine = i % 2 == 0 ? harness().store() : harness().second();
    for (int round = 0; round < harness().Rounds(200); ++round) {
      const ClaimSpec spec = Spec("i" + std::to_string(i), 6);
      const auto lease = mine.Claim({&spec, 1}, {}).front();
      if (!lease.ok()) {
        ++failures;
        continue;
      }
      const RenewSpec renewal{KeyOf(*lease), Now(), Now()};
      const storage::RaiseSpec raise{KeyOf(*lease), Now()};
      const ReleaseSpec release{KeyOf(*lease), Now(), false};
      if (!mine.Renew({&renewal, 1}, {}).front().ok()) ++failures;
      if (!mine.RaiseWatermark({&raise, 1}, {}).front().ok()) ++failures;
      if (!mine.GetWatermark(kOrders, lease->row.machine_id).ok()) ++failures;
      if (!mine.Release({&release, 1}, {}).front().ok()) ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Namespace().counts.held, 0u);
  EXPECT_LE(Rows().size(), 50u);
}

}  // namespace
}  // namespace snowlease::testing
