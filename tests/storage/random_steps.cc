#include "tests/storage/random_steps.h"

#include <algorithm>

namespace snowlease::testing {

using namespace storage;  // NOLINT: asks for everything it offers

namespace {

constexpr size_t kRemembered = 24;
constexpr int kInstances = 7;
const AdminContext kAdmin{"ada", "random walk"};

template <typename T>
std::string DescribeAll(const std::vector<T>& results) {
  std::string text;
  for (const T& result : results) text += Describe(result) + "\n";
  return text;
}

template <typename T>
void Remember(std::vector<T>& items, const T& item) {
  items.push_back(item);
  if (items.size() > kRemembered) items.erase(items.begin());
}

}  // namespace

RandomSteps::RandomSteps(uint64_t seed, StoreHarness* harness, bool store_clock_steps)
    : random_(seed), harness_(harness), store_clock_steps_(store_clock_steps) {}

ClientTime RandomSteps::PickClock() {
  const ClientTime now = harness_->Now();
  switch (Pick(12)) {
    case 0:
      return now + Millis(Pick(70'000));
    case 1:
      return now - Millis(Pick(70'000));
    case 2:
      return now + Millis(3'600'000);
    default:
      return now + Millis(static_cast<int64_t>(Pick(200)) - 100);
  }
}

ClientTime RandomSteps::PickLast() {
  switch (Pick(8)) {
    case 0:
      return ClientTime{0};
    case 1:
      return harness_->Now() + Millis(Pick(100'000));
    case 2:
      return harness_->Now() + Millis(86'400'000);
    default:
      return harness_->Now() - Millis(Pick(3000));
  }
}

GrantKey RandomSteps::PickGrant() {
  GrantKey key{PickNamespace(), Pick(5), "i" + std::to_string(Pick(kInstances)), Pick(4)};
  if (grants_.empty() || OneIn(12)) return key;
  // Mostly the newest ones, which are alive.
  const size_t back = OneIn(3) ? Pick(static_cast<uint32_t>(grants_.size()))
                               : Pick(std::min<uint32_t>(8, grants_.size()));
  const GrantKey known = KeyOf(grants_[grants_.size() - 1 - back]);
  if (!OneIn(12)) return known;
  key.machine_id = known.machine_id;
  key.token = known.token + Pick(2);
  return key;
}

ClaimSpec RandomSteps::PickClaim() {
  if (!claims_.empty() && OneIn(8)) {  // a repeated or a late copy
    ClaimSpec copy = claims_[Pick(static_cast<uint32_t>(claims_.size()))];
    if (OneIn(2)) copy.client_time = PickClock();
    return copy;
  }
  ClaimSpec spec;
  spec.name_space = PickNamespace();
  spec.instance_id = "i" + std::to_string(Pick(kInstances));
  spec.incarnation_id = NewIncarnation();
  spec.machine_bits = OneIn(10) ? static_cast<int>(Pick(3)) + 1 : 2;
  spec.stable = OneIn(5);
  constexpr int64_t kDurations[] = {20'000, 60'000, 300'000};
  spec.safe_guard = Millis(OneIn(20) ? 0 : kDurations[Pick(3)]);
  if (OneIn(6) && spec.safe_guard > Millis(0)) spec.window = Millis(1 + Pick(30'000));
  spec.client_time = PickClock();
  spec.waited = Millis(OneIn(4) ? Pick(1000) : 0);
  spec.max_wait = Millis(OneIn(8) ? Pick(400'000) : 500);
  spec.comeback = static_cast<ComebackMode>(OneIn(2) ? 0 : Pick(4));
  spec.metadata = {{"host", spec.instance_id}};
  spec.may_create_namespace = !OneIn(10);
  if (!grants_.empty() && OneIn(2)) {
    const Lease& old = grants_[Pick(static_cast<uint32_t>(grants_.size()))];
    spec.proof = ProofOf(old, std::max(old.row.floor, PickLast()));
    if (!OneIn(4)) {
      spec.instance_id = old.row.instance_id.value_or("");
      spec.name_space = old.row.name_space;
    }
  }
  return spec;
}

ReleaseSpec RandomSteps::PickRelease() {
  ReleaseSpec spec{PickGrant(), PickLast(), OneIn(6)};
  if (OneIn(4)) spec.last_timestamp.reset();
  return spec;
}

std::vector<uint32_t> RandomSteps::PickIds() {
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i <= Pick(2); ++i) ids.push_back(Pick(OneIn(6) ? 6 : 4));
  return ids;
}

void RandomSteps::MoveClocks() {
  if (OneIn(3)) harness_->Advance(Millis(Pick(2000)));
  if (OneIn(12)) harness_->Advance(Millis(Pick(70'000)));
  if (OneIn(80)) harness_->Advance(Millis(400'000));
  if (!store_clock_steps_ || !OneIn(40)) return;
  Millis ahead{0};
  if (OneIn(2)) ahead = Millis(static_cast<int64_t>(Pick(200'000)) - 100'000);
  harness_->StepStoreClock(ahead - store_ahead_);
  store_ahead_ = ahead;
}

RandomSteps::Step RandomSteps::Next() {
  MoveClocks();
  granted_.reset();
  const uint32_t dice = Pick(100);
  if (dice < 34) return ClaimStep();
  if (dice < 54) return RenewStep();
  if (dice < 68) return ReleaseStep();
  if (dice < 74) return RaiseStep();
  if (dice < 80) return BatchStep();
  if (dice < 92) return AdminStep();
  return ReadStep();
}

void RandomSteps::Learn(const absl::StatusOr<Lease>& result) {
  if (!result.ok()) return;
  granted_ = *result;
  if (grants_.empty() || !(KeyOf(grants_.back()) == KeyOf(*result))) Remember(grants_, *result);
}

RandomSteps::Step RandomSteps::ClaimStep() {
  Step step;
  step.claim = PickClaim();
  Remember(claims_, *step.claim);
  step.what = "claim " + step.claim->name_space + "/" + step.claim->instance_id;
  step.run = [this, spec = *step.claim](LeaseStore& store) {
    const auto result = store.Claim({&spec, 1}, {}).front();
    Learn(result);
    return Describe(result);
  };
  return step;
}

RandomSteps::Step RandomSteps::RenewStep() {
  const RenewSpec spec = PickRenewal();
  return {"renew " + spec.grant.name_space + "/" + spec.grant.instance_id,
          [spec](LeaseStore& store) {
            return DescribeAll(store.Renew({&spec, 1}, {}));
          },
          {},
          {}};
}

RandomSteps::Step RandomSteps::ReleaseStep() {
  const ReleaseSpec spec = PickRelease();
  return {"release " + spec.grant.name_space + "/" + spec.grant.instance_id,
          [spec](LeaseStore& store) {
            return DescribeAll(store.Release({&spec, 1}, {}));
          },
          {},
          spec};
}

RandomSteps::Step RandomSteps::RaiseStep() {
  const RaiseSpec spec{PickGrant(), PickLast()};
  return {"raise " + spec.grant.name_space + "/" + spec.grant.instance_id,
          [spec](LeaseStore& store) {
            return DescribeAll(store.RaiseWatermark({&spec, 1}, {}));
          },
          {},
          {}};
}

RandomSteps::Step RandomSteps::BatchStep() {
  std::vector<RenewSpec> specs;
  for (uint32_t i = 0; i < 2 + Pick(6); ++i) {
    specs.push_back(PickRenewal());
    if (OneIn(3)) specs.push_back(specs.front());
  }
  // Stores may merge several renewals of one grant, and answer all of them with the sum.
  std::vector<RenewSpec> distinct;
  for (const RenewSpec& spec : specs) {
    const bool is_new = std::none_of(distinct.begin(), distinct.end(),
                                     [&](const auto& other) { return other.grant == spec.grant; });
    if (is_new) distinct.push_back(spec);
  }
  specs = std::move(distinct);
  return {"renew a batch",
          [specs](LeaseStore& store) { return DescribeAll(store.Renew(specs, {})); },
          {},
          {}};
}

RandomSteps::Step RandomSteps::AdminStep() {
  const std::string name = PickNamespace();
  const std::vector<uint32_t> ids = PickIds();
  switch (Pick(8)) {
    case 0:
      return UpdateStep();
    case 1:
      return {"delete " + name,
              [name](LeaseStore& store) { return Describe(store.DeleteNamespace(name, kAdmin)); },
              {},
              {}};
    case 2:
      return {"reserve in " + name,
              [=](LeaseStore& store) { return Describe(store.ReserveIds(name, ids, kAdmin)); },
              {},
              {}};
    case 3:
    case 4: {
      std::optional<ClientTime> floor;
      if (OneIn(2)) floor = PickLast();
      return {
          "unreserve in " + name,
          [=](LeaseStore& store) { return Describe(store.UnreserveIds(name, ids, floor, kAdmin)); },
          {},
          {}};
    }
    default:
      return ForceStep();
  }
}

RandomSteps::Step RandomSteps::UpdateStep() {
  NamespaceUpdate update;
  update.name = PickNamespace();
  update.machine_bits = 2;
  update.allow_missing = OneIn(2);
  if (OneIn(3)) update.allow_trust_clock = OneIn(2);
  if (OneIn(3))
    update.lease_cap.emplace(OneIn(3) ? std::optional<uint64_t>(Pick(5)) : std::nullopt);
  if (OneIn(6)) {
    update.pinned_safe_guard.emplace(OneIn(4) ? std::optional(Millis(60'000)) : std::nullopt);
  }
  return {"update " + update.name,
          [update](LeaseStore& store) { return Describe(store.UpdateNamespace(update, kAdmin)); },
          {},
          {}};
}

RandomSteps::Step RandomSteps::ForceStep() {
  const GrantKey grant = PickGrant();
  ForceReleaseSpec spec{grant.name_space, grant.machine_id, grant.token, std::nullopt};
  if (OneIn(2)) spec.quarantine = Millis(Pick(100'000));
  return {"force " + grant.name_space + "/" + std::to_string(grant.machine_id),
          [spec](LeaseStore& store) { return Describe(store.ForceRelease(spec, kAdmin)); },
          {},
          {}};
}

RandomSteps::Step RandomSteps::ReadStep() {
  const std::string name = PickNamespace();
  const uint32_t id = Pick(5);
  const ClientTime timestamp = PickLast();
  LeaseFilter filter;
  if (OneIn(2)) filter.state = static_cast<LeaseState>(1 + Pick(4));
  if (OneIn(2)) filter.instance_prefix = OneIn(2) ? "i" : "i" + std::to_string(Pick(kInstances));
  return {"read",
          [=](LeaseStore& store) {
            return Describe(store.GetWatermark(name, id)) + "\n" +
                   Describe(store.ListNamespaces("", 10)) + Describe(store.GetNamespace(name)) +
                   "\n" + Describe(store.ListLeases(name, filter, id / 2, 3)) +
                   Describe(store.GetLease(name, id)) +
                   Describe(store.FindOwner(name, id, timestamp)) +
                   Describe(store.ListAudit(name, 5));
          },
          {},
          {}};
}

}  // namespace snowlease::testing
