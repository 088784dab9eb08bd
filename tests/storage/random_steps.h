#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/storage/lease_store_conformance.h"

namespace snowlease::testing {

// A random walk through everything that callers and operators can ask of a store, in
// a world so small that all of it meets: two namespaces of 4 ids, 7 instances. Knows
// the grants that were answered, and names live and dead ones alike.
class RandomSteps {
 public:
  struct Step {
    std::string what;
    // Asks a store and answers all that it said; the same for every store in lockstep.
    std::function<std::string(storage::LeaseStore&)> run;
    // What was asked, where it was one claim or one release.
    std::optional<ClaimSpec> claim;
    std::optional<ReleaseSpec> release;
  };

  // `store_clock_steps`: also move the store clock against the others.
  RandomSteps(uint64_t seed, StoreHarness* harness, bool store_clock_steps);

  // Moves the clocks a little, now and then, and makes the next step.
  Step Next();
  // The answer to the last claim that was run and granted.
  const std::optional<Lease>& granted() const { return granted_; }

  static std::vector<std::string> Namespaces() { return {"n", "N"}; }

 private:
  uint32_t Pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool OneIn(uint32_t n) { return Pick(n) == 0; }
  std::string PickNamespace() { return Namespaces()[Pick(2)]; }
  ClientTime PickClock();
  ClientTime PickLast();
  GrantKey PickGrant();
  ClaimSpec PickClaim();
  RenewSpec PickRenewal() { return {PickGrant(), PickLast(), PickClock()}; }
  ReleaseSpec PickRelease();
  std::vector<uint32_t> PickIds();

  void MoveClocks();
  Step ClaimStep();
  Step RenewStep();
  Step ReleaseStep();
  Step RaiseStep();
  Step BatchStep();
  Step AdminStep();
  Step UpdateStep();
  Step ForceStep();
  Step ReadStep();
  void Learn(const absl::StatusOr<Lease>& result);

  std::mt19937_64 random_;
  StoreHarness* const harness_;
  const bool store_clock_steps_;
  Millis store_ahead_{0};
  std::vector<Lease> grants_;  // newest last
  std::vector<ClaimSpec> claims_;
  std::optional<Lease> granted_;
};

}  // namespace snowlease::testing
