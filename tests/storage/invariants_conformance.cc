#include <algorithm>
#include <map>

#include "storage/errors.h"
#include "tests/storage/random_steps.h"

// The invariants of docs/semantics.md, watched over a random walk by somebody who knows
// nothing of the implementation.

namespace snowlease::testing {
namespace {

using storage::NamespaceRow;
using IdKey = std::pair<std::string, uint32_t>;

// All rows of both namespaces; those of a deleted one are gone.
using World = std::map<IdKey, LeaseRow>;

World Look(storage::LeaseStore& store) {
  World world;
  for (const std::string& name : RandomSteps::Namespaces()) {
    const auto leases = store.ListLeases(name, {}, 0, 100);
    if (!leases.ok()) continue;
    for (const storage::LeaseDetail& detail : *leases) {
      world.emplace(IdKey(name, detail.row.machine_id), detail.row);
    }
  }
  return world;
}

std::string DescribeWorld(const World& world) {
  std::string text;
  for (const auto& [key, row] : world) text += key.first + ": " + Describe(row) + "\n";
  return text;
}

bool Holds(const LeaseRow& row) {
  return row.state == LeaseState::kHeld || row.state == LeaseState::kKept;
}

class Watcher {
 public:
  Watcher(StoreHarness& harness, const storage::StoreOptions& options)
      : harness_(harness), options_(options) {}

  void After(const RandomSteps::Step& step, const std::optional<Lease>& granted,
             const std::string& answer) {
    const World before = std::exchange(now_, Look(harness_.store()));
    CloseEndedGrants(before, step);
    for (const auto& [key, row] : now_) {
      const auto old = before.find(key);
      CheckRow(key, row, old == before.end() ? nullptr : &old->second, granted);
      if (old != before.end()) CheckStable(old->second, row, step);
    }
    CheckInstances();
    CheckCounts();
    if (step.claim && !granted) CheckRefusedClaim(*step.claim, before, answer);
  }

 private:
  // Remembers what the grants that this step ended may have issued.
  void CloseEndedGrants(const World& before, const RandomSteps::Step& step) {
    for (const auto& [key, old] : before) {
      if (old.state != LeaseState::kHeld || !old.window_end) continue;
      const auto found = now_.find(key);
      const bool goes_on = found != now_.end() && found->second.state == LeaseState::kHeld &&
                           found->second.token == old.token;
      if (goes_on) continue;
      taken_[key] = std::max(taken_[key], EndOf(old, found, step));
    }
  }

  ClientTime EndOf(const LeaseRow& old, World::const_iterator now,
                   const RandomSteps::Step& step) const {
    const GrantKey grant{old.name_space, old.machine_id, old.instance_id.value_or(""), old.token};
    const auto clean_at = [&](ClientTime last) {
      return std::max(old.watermark, std::min(last, *old.window_end));
    };
    if (step.release && step.release->grant == grant) {
      if (step.release->abandon) return old.watermark;
      if (step.release->last_timestamp) return clean_at(*step.release->last_timestamp);
    }
    const bool came_back = now != now_.end() && now->second.state == LeaseState::kHeld &&
                           now->second.instance_id == old.instance_id;
    if (came_back && step.claim && step.claim->proof &&
        step.claim->proof->incarnation_id == old.incarnation_id &&
        step.claim->proof->reserved_until >= old.watermark) {
      return clean_at(step.claim->proof->reserved_until);
    }
    return *old.window_end;
  }

  void CheckRow(const IdKey& key, const LeaseRow& row, const LeaseRow* old,
                const std::optional<Lease>& granted) {
    ClientTime& watermark = watermarks_[key];
    ClientTime& fence = fences_[key];
    EXPECT_GE(row.watermark, watermark) << "W2: " << Describe(row);
    EXPECT_GE(row.fence, fence) << "W2: " << Describe(row);
    watermark = row.watermark;
    fence = row.fence;

    uint64_t& token = tokens_[key];
    EXPECT_GE(row.token, token) << "T1: " << Describe(row);
    if (old != nullptr) {
      EXPECT_LE(row.token, old->token + 1) << "T1: " << Describe(row);
    }
    const bool is_new_grant = row.token > token && row.state == LeaseState::kHeld;
    token = row.token;
    if (is_new_grant) {
      const bool trusted = granted && KeyOf(*granted) == KeyOf(row) && granted->clock_trusted;
      if (!trusted) {
        EXPECT_GE(row.floor, taken_[key]) << "W1: " << Describe(row);
      }
      EXPECT_GE(row.watermark, row.floor) << Describe(row);
    }
    if (row.state == LeaseState::kHeld && row.window_end) {
      EXPECT_GE(*row.window_end, row.floor) << Describe(row);
      EXPECT_GE(*row.window_end, row.watermark) << Describe(row);
    }
    EXPECT_EQ(row.free_floor.has_value(), row.state == LeaseState::kFree) << Describe(row);
    if (row.free_floor) {
      EXPECT_EQ(*row.free_floor, std::max(row.watermark, row.fence)) << Describe(row);
      EXPECT_GE(*row.free_floor, taken_[key]) << "W1: " << Describe(row);
    }
  }

  // S1
  void CheckStable(const LeaseRow& old, const LeaseRow& now, const RandomSteps::Step& step) {
    if (!Holds(old) || !old.stable || now.instance_id == old.instance_id) return;
    const bool by_itself = step.claim && step.claim->name_space == old.name_space &&
                           step.claim->instance_id == old.instance_id;
    const bool abandoned = step.release && step.release->abandon;
    const bool forced = step.what.starts_with("force");
    EXPECT_TRUE(by_itself || abandoned || forced) << "S1: " << step.what << Describe(old);
  }

  // H1
  void CheckInstances() {
    std::map<std::pair<std::string, std::string>, int> rows;
    for (const auto& [key, row] : now_) {
      EXPECT_EQ(row.instance_id.has_value(), Holds(row)) << Describe(row);
      if (row.instance_id) ++rows[{key.first, *row.instance_id}];
    }
    for (const auto& [instance, count] : rows) EXPECT_EQ(count, 1) << "H1: " << instance.second;
  }

  void CheckCounts() {
    for (const std::string& name : RandomSteps::Namespaces()) {
      const auto detail = harness_.store().GetNamespace(name);
      if (!detail.ok()) continue;
      std::map<LeaseState, uint64_t> rows;
      for (const auto& [key, row] : now_) {
        if (key.first == name) ++rows[row.state];
      }
      const storage::LeaseCounts& counts = detail->row.counts;
      EXPECT_EQ(counts.free, rows[LeaseState::kFree]);
      EXPECT_EQ(counts.held, rows[LeaseState::kHeld]);
      EXPECT_EQ(counts.kept, rows[LeaseState::kKept]);
      EXPECT_EQ(counts.reserved, rows[LeaseState::kReserved]);
    }
  }

  // A refused claim changes nothing, and refuses for a reason (O1).
  void CheckRefusedClaim(const ClaimSpec& spec, const World& before, const std::string& answer) {
    EXPECT_EQ(DescribeWorld(now_), DescribeWorld(before)) << answer;
    const bool overflow = answer.starts_with("MACHINE_ID_OVERFLOW");
    if (!overflow && !answer.starts_with("CLOCK_BEHIND")) return;
    const ClientTime reach = spec.client_time + spec.waited + spec.max_wait;
    const int64_t apart = std::abs(harness_.StoreNow().ms - harness_.Now().ms);
    const bool paused = apart > options_.max_clock_ahead.count();
    bool passed_over = false;
    for (uint32_t id = 0; id < 1u << spec.machine_bits; ++id) {
      const auto found = before.find({spec.name_space, id});
      if (found == before.end()) {
        // A never-used number may still be under the floor of a tombstone.
        EXPECT_FALSE(overflow) << "O1: number " << id << " was never used";
        passed_over = true;
        continue;
      }
      const LeaseRow& row = found->second;
      if (row.state == LeaseState::kFree) {
        EXPECT_GT(*row.free_floor, reach) << "O1: " << Describe(row);
        passed_over = true;
      }
      const bool expired = row.state == LeaseState::kHeld && !row.stable &&
                           row.safe_guard > Millis(0) &&
                           row.renewed_at + row.safe_guard <= harness_.StoreNow();
      if (expired && !spec.stable && !paused && row.instance_id != spec.instance_id) {
        EXPECT_GT(std::max({row.watermark, row.fence, *row.window_end}), reach)
            << "O1: " << Describe(row);
        passed_over = true;
      }
    }
    EXPECT_EQ(passed_over, !overflow) << answer;
  }

  StoreHarness& harness_;
  const storage::StoreOptions options_;
  World now_;
  std::map<IdKey, ClientTime> taken_;  // where the windows of ended grants ended
  std::map<IdKey, ClientTime> watermarks_;
  std::map<IdKey, ClientTime> fences_;
  std::map<IdKey, uint64_t> tokens_;
};

TEST_P(LeaseStoreConformance, InvariantsHoldOverARandomWalk) {
  for (const uint64_t seed : {11, 12, 13, 14}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto harness = GetParam().make({});
    harness->Open();
    Watcher watcher(*harness, {});
    RandomSteps steps(seed, harness.get(), /*store_clock_steps=*/false);
    int grants = 0;
    for (int i = 0; i < harness->Rounds(2500); ++i) {
      const RandomSteps::Step step = steps.Next();
      const std::string answer = step.run(harness->store());
      watcher.After(step, steps.granted(), answer);
      if (steps.granted()) ++grants;
      if (HasFailure()) {
        FAIL() << "after step " << i << ": " << step.what << "\n" << answer;
      }
    }
    EXPECT_GT(grants, harness->Rounds(200));
  }
}

TEST_P(LeaseStoreClockSteps, InvariantsHoldOverARandomWalkWithAWildStoreClock) {
  for (const uint64_t seed : {21, 22, 23, 24}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto harness = GetParam().make({});
    harness->Open();
    Watcher watcher(*harness, {});
    RandomSteps steps(seed, harness.get(), /*store_clock_steps=*/true);
    for (int i = 0; i < harness->Rounds(2500); ++i) {
      const RandomSteps::Step step = steps.Next();
      const std::string answer = step.run(harness->store());
      watcher.After(step, steps.granted(), answer);
      if (HasFailure()) {
        FAIL() << "after step " << i << ": " << step.what << "\n" << answer;
      }
    }
  }
}

}  // namespace
}  // namespace snowlease::testing
