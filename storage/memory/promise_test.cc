// The promise itself, on random schedules: whatever clocks, lost messages, zombies and
// operators do, no timestamp is issued twice under one machine id. Processes are modelled
// as the SDK's rules allow them to act at worst: they never stop by themselves.

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <tuple>

#include "storage/errors.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::storage {
namespace {

constexpr int64_t kStart = 1'900'000'000'000;
constexpr int kInstances = 5;

// One grant as its process knows it. It goes on issuing whatever happened in the store.
struct Holder {
  GrantKey grant;
  IncarnationId incarnation{};
  ClientTime floor;
  ClientTime window_end;
  ClientTime last;
  std::optional<ClientTime> reserved;  // limit that the state file gave; none: no file
  bool file_is_mine = false;           // may raise the reserve
  bool closed = false;
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed), clock_(HostTime{kStart}) {
    StoreOptions options;
    options.max_clock_ahead = Millis(60);
    options.grants_kept = 3;
    store_ = std::make_unique<MemoryLeaseStore>(
        options, &clock_, [this] { return StoreTime{clock_.Now().ms + store_offset_}; });
  }

  void Step() {
    switch (Draw(16)) {
      case 0:
      case 1:
        clock_.Advance(Millis(Draw(400)));
        break;
      case 2:
        client_offset_[Draw(kInstances)] = Draw(200) - 100;
        break;
      case 3:
        store_offset_ = Draw(10) == 0 ? Draw(2'000) - 1'000 : 0;
        break;
      case 4:
      case 5:
        Claim();
        break;
      case 6:
        DeliverLate();
        break;
      case 7:
        Release();
        break;
      case 8:
        Operate();
        break;
      case 9:
      case 10:
        Renew();
        break;
      default:
        Issue();
        break;
    }
  }

  const std::string& Duplicate() const { return duplicate_; }
  size_t Issued() const { return issued_.size(); }
  int takeovers = 0;
  int comebacks = 0;
  int moves = 0;

 private:
  int64_t Draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  bool OneIn(int64_t n) { return Draw(n) == 0; }
  ClientTime NowAt(int64_t instance) {
    return {clock_.Now().ms + client_offset_[static_cast<size_t>(instance)]};
  }

  Holder* AnyHolder() {
    if (holders_.empty()) return nullptr;
    return holders_[static_cast<size_t>(Draw(static_cast<int64_t>(holders_.size())))].get();
  }
  int64_t InstanceOf(const Holder& holder) { return holder.grant.instance_id[0] - 'a'; }

  void Claim() {
    const int64_t instance = Draw(kInstances);
    ClaimSpec spec;
    spec.name_space = "shop";
    spec.instance_id = std::string(1, static_cast<char>('a' + instance));
    for (uint8_t& byte : spec.incarnation_id) byte = static_cast<uint8_t>(Draw(256));
    spec.machine_bits = 2;
    spec.stable = instance == 0;
    spec.safe_guard = Millis(1'000 + 100 * Draw(3));
    spec.client_time = NowAt(instance);
    spec.max_wait = Millis(Draw(3) * 50);
    if (OneIn(3)) spec.comeback = OneIn(2) ? ComebackMode::kMove : ComebackMode::kKeep;
    // A stable instance reads the state file under its lock: the owner can raise it no more.
    Holder* predecessor = file_owner_[static_cast<size_t>(instance)];
    if (predecessor != nullptr && OneIn(2)) {
      predecessor->file_is_mine = false;
      spec.proof = Proof{predecessor->incarnation, *predecessor->reserved};
    }
    const ClaimSpec sent = spec;
    if (OneIn(6)) late_.push_back([this, sent] { store_->Claim({&sent, 1}, {}); });
    auto result = store_->Claim({&spec, 1}, {});
    if (OneIn(8)) return;  // the answer is lost
    if (OneIn(4)) result = store_->Claim({&spec, 1}, {});
    if (result[0].ok()) Granted(instance, spec, *result[0]);
  }

  void Granted(int64_t instance, const ClaimSpec& spec, const Lease& lease) {
    takeovers += lease.row.source == LeaseSource::kExpired;
    comebacks += lease.row.source == LeaseSource::kOwn;
    moves += lease.superseded_live_lease && lease.row.source != LeaseSource::kOwn;
    auto holder = std::make_unique<Holder>();
    holder->grant = {"shop", lease.row.machine_id, spec.instance_id, lease.row.token};
    holder->incarnation = spec.incarnation_id;
    holder->floor = lease.row.floor;
    holder->window_end = *lease.row.window_end;
    holder->last = lease.row.floor;
    // Without its state directory an instance leaves the old file behind (M16).
    if (spec.stable && !OneIn(4)) {
      Holder*& owner = file_owner_[static_cast<size_t>(instance)];
      if (owner != nullptr) owner->file_is_mine = false;
      holder->reserved = NowAt(instance) + Millis(100);
      holder->file_is_mine = true;
      owner = holder.get();
    }
    holders_.push_back(std::move(holder));
  }

  void Issue() {
    Holder* holder = AnyHolder();
    if (holder == nullptr || holder->closed) return;
    const ClientTime now = NowAt(InstanceOf(*holder));
    if (holder->reserved && holder->file_is_mine && OneIn(2)) {
      holder->reserved = std::max(*holder->reserved, now + Millis(100));
    }
    const ClientTime limit =
        std::min(holder->window_end, holder->reserved.value_or(holder->window_end));
    if (now <= holder->floor || now <= holder->last || now > limit) return;
    holder->last = now;
    const auto [it, fresh] = issued_.insert({holder->grant.machine_id, now.ms});
    if (!fresh) {
      duplicate_ = "timestamp " + std::to_string(now.ms) + " of machine id " +
                   std::to_string(holder->grant.machine_id) + " issued again by " +
                   holder->grant.instance_id + " with token " + std::to_string(holder->grant.token);
    }
  }

  void Renew() {
    Holder* holder = AnyHolder();
    if (holder == nullptr || holder->closed) return;
    const RenewSpec spec{holder->grant, holder->last, NowAt(InstanceOf(*holder))};
    if (OneIn(6)) late_.push_back([this, spec] { store_->Renew({&spec, 1}, {}); });
    if (OneIn(6)) return;  // the request is lost, or late
    auto result = store_->Renew({&spec, 1}, {});
    if (OneIn(6) || !result[0].ok()) return;  // LOST, but a zombie does not hear it
    holder->window_end = std::max(holder->window_end, *result[0]->row.window_end);
  }

  void Release() {
    Holder* holder = AnyHolder();
    if (holder == nullptr || holder->closed || !OneIn(2)) return;
    holder->closed = true;
    ReleaseSpec spec{holder->grant, holder->last, false};
    if (holder->last == holder->floor && OneIn(2)) {
      spec.abandon = true;
    } else if (OneIn(4)) {
      spec.last_timestamp.reset();
    }
    if (OneIn(4)) late_.push_back([this, spec] { store_->Release({&spec, 1}, {}); });
    if (!OneIn(5)) store_->Release({&spec, 1}, {});
  }

  void DeliverLate() {
    if (late_.empty()) return;
    const auto deliver = std::move(late_.front());
    late_.pop_front();
    deliver();
    if (OneIn(3)) late_.push_back(deliver);
  }

  void Operate() {
    const AdminContext admin{"operator", "test"};
    const uint32_t id = static_cast<uint32_t>(Draw(4));
    switch (Draw(5)) {
      case 0: {
        Holder* holder = AnyHolder();
        if (holder == nullptr) return;
        std::ignore = store_->ForceRelease(
            {"shop", holder->grant.machine_id, holder->grant.token, {}}, admin);
        return;
      }
      case 1:
        store_->DeleteNamespace("shop", admin).IgnoreError();
        return;
      case 2:
        store_->ReserveIds("shop", {&id, 1}, admin).IgnoreError();
        return;
      default:
        store_->UnreserveIds("shop", {&id, 1}, std::nullopt, admin).IgnoreError();
        return;
    }
  }

  std::mt19937_64 random_;
  testing::FakeClock clock_;
  int64_t store_offset_ = 0;
  int64_t client_offset_[kInstances] = {};
  std::unique_ptr<MemoryLeaseStore> store_;
  std::vector<std::unique_ptr<Holder>> holders_;
  Holder* file_owner_[kInstances] = {};
  std::deque<std::function<void()>> late_;
  std::set<std::pair<uint32_t, int64_t>> issued_;
  std::string duplicate_;
};

TEST(Promise, NoTimestampIsIssuedTwiceUnderOneMachineId) {  // M01-M06, M10, M16, M17, M18
  const char* fixed = std::getenv("SNOWLEASE_SEED");
  const uint64_t first = fixed ? std::strtoull(fixed, nullptr, 10) : std::random_device{}();
  std::cout << "seed " << first << " (SNOWLEASE_SEED repeats it)\n";
  size_t issued = 0;
  int takeovers = 0, comebacks = 0, moves = 0;
  for (uint64_t seed = first; seed < first + 1'000; ++seed) {
    World world(seed);
    for (int step = 0; step < 2'000; ++step) {
      world.Step();
      ASSERT_EQ(world.Duplicate(), "") << "seed " << seed << " step " << step;
    }
    issued += world.Issued();
    takeovers += world.takeovers;
    comebacks += world.comebacks;
    moves += world.moves;
  }
  // The schedules reach what they are about.
  EXPECT_GT(issued, 10'000u);
  EXPECT_GT(takeovers, 100);
  EXPECT_GT(comebacks, 100);
  EXPECT_GT(moves, 100);
}

}  // namespace
}  // namespace snowlease::storage
