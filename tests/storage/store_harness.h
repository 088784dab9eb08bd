#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/lease_store.h"

namespace snowlease::testing {

// A store under test with its clocks. Tests know no absolute time: everything is
// relative to Now(), and times that the store answered before Advance stay
// comparable with those it answers after. A backend whose clock cannot be faked
// advances by shifting its rows into the past and hands out a store that translates
// times by the sum of the shifts.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;

  // Makes an empty, migrated store; called once, first. Throws when it cannot.
  virtual void Open() = 0;
  // Closes every handle and opens the store again, as a restart of all servers does.
  // A store that does not outlive its process stays open.
  virtual void Reopen() = 0;
  virtual storage::LeaseStore& store() = 0;
  // Another handle of the same store, with connections of its own where it has any.
  virtual storage::LeaseStore& second() { return store(); }

  // What a client with a good clock reads.
  virtual storage::ClientTime Now() = 0;
  virtual storage::StoreTime StoreNow() = 0;
  // Moves all clocks forward. Thread-safe when AdvancesUnderLoad.
  virtual void Advance(storage::Millis by) = 0;
  // Moves the store clock alone, against host and clients.
  virtual void StepStoreClock(storage::Millis by) = 0;
  virtual bool AdvancesUnderLoad() const { return true; }
  // How far the clocks may run by themselves during one test step.
  virtual storage::Millis ClockSlack() const { return storage::Millis(0); }
  // Rounds of a long test that this store, given `full` for one in memory, has time for.
  virtual int Rounds(int full) const { return full; }
  // The host clock, where time moves only by Advance; else null.
  virtual const storage::Clock* FrozenHostClock() const { return nullptr; }
};

// How a backend enters the suite.
struct Backend {
  std::string name;
  std::function<std::unique_ptr<StoreHarness>(const storage::StoreOptions&)> make;
};

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

}  // namespace snowlease::testing
