#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/decorators/deadline_lease_store.h"
#include "storage/decorators/metered_lease_store.h"
#include "storage/errors.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_injecting_lease_store.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::FakeClock;
using snowlease::testing::FaultInjectingLeaseStore;
using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using snowlease::testing::StoreOperation;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

struct Seen {
  std::string operation;
  Reason result;
  std::chrono::nanoseconds duration;
  size_t elements;

  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.operation << " " << ReasonName(seen.result) << " " << seen.duration.count()
               << " ns " << seen.elements;
  }
};

class Recorder final : public StoreObserver {
 public:
  void OnOperation(std::string_view operation, Reason result, std::chrono::nanoseconds duration,
                   size_t elements) override {
    seen.push_back({std::string(operation), result, duration, elements});
  }
  std::vector<Seen> seen;
};

class Decorators : public ::testing::Test {
 protected:
  std::unique_ptr<FaultInjectingLeaseStore> MakeStore() {
    auto store = std::make_unique<FaultInjectingLeaseStore>(
        std::make_unique<MemoryLeaseStore>(StoreOptions(), &clock_));
    faults_ = store.get();
    return store;
  }
  ClaimSpec ClaimBy(const std::string& instance) {
    ClaimSpec spec;
    spec.name_space = "orders";
    spec.instance_id = instance;
    spec.client_time = {clock_.Now().ms};
    return spec;
  }

  FakeClock clock_;
  FaultInjectingLeaseStore* faults_ = nullptr;
  Recorder recorder_;
};

TEST_F(Decorators, MeterTellsNameSizeAndDuration) {
  MeteredLeaseStore store(MakeStore(), &recorder_, &clock_);
  faults_->SetBeforeCall([this](StoreOperation, size_t) { clock_.Advance(Millis(3)); });
  const std::vector<ClaimSpec> claims = {ClaimBy("one"), ClaimBy("two")};
  EXPECT_THAT(store.Claim(claims, {}), Each(IsOk()));
  EXPECT_THAT(store.GetNamespace("orders"), IsOk());
  EXPECT_THAT(recorder_.seen, ElementsAre(Seen{"claim", Reason::kNone, Millis(3), 2},
                                          Seen{"get_namespace", Reason::kNone, Millis(3), 1}));
}

TEST_F(Decorators, MeterTellsFailuresOfTheStoreFromRefusals) {
  MeteredLeaseStore store(MakeStore(), &recorder_, &clock_);
  const std::vector<RenewSpec> renewals(4);
  EXPECT_THAT(store.Renew(renewals, {}), Each(HasReason(Reason::kMachineIdLost)));
  EXPECT_THAT(store.GetNamespace("none"), HasReason(Reason::kNotFound));
  faults_->FailNext(StoreOperation::kRenew, 1, StoreTimeoutError("slow"));
  EXPECT_THAT(store.Renew(renewals, {}), Each(HasReason(Reason::kStoreTimeout)));
  faults_->FailNext(StoreOperation::kPing, 1, StoreUnavailableError("gone"));
  EXPECT_THAT(store.Ping(), HasReason(Reason::kStoreUnavailable));
  EXPECT_THAT(recorder_.seen, ElementsAre(Seen{"renew", Reason::kNone, {}, 4},
                                          Seen{"get_namespace", Reason::kNone, {}, 1},
                                          Seen{"renew", Reason::kStoreTimeout, {}, 4},
                                          Seen{"ping", Reason::kStoreUnavailable, {}, 1}));
}

TEST_F(Decorators, EveryCallPassesThroughAndIsMeteredOnce) {
  MeteredLeaseStore store(MakeStore(), &recorder_, &clock_);
  const AdminContext admin = {"op", "test"};
  EXPECT_THAT(store.Migrate(MigrateMode::kAuto), IsOk());
  const Lease lease = store.Claim({{ClaimBy("one")}}, {}).front().value();
  const GrantKey grant = {"orders", lease.row.machine_id, "one", lease.row.token};
  const ClientTime now = {clock_.Now().ms};
  EXPECT_THAT(store.Renew({{RenewSpec{grant, now, now}}}, {}), ElementsAre(IsOk()));
  EXPECT_THAT(store.RaiseWatermark({{RaiseSpec{grant, now}}}, {}), ElementsAre(IsOk()));
  EXPECT_EQ(store.GetWatermark("orders", 0)->watermark, now);
  EXPECT_THAT(store.ListNamespaces("", 10).value(), SizeIs(1));
  EXPECT_EQ(store.GetNamespace("orders")->row.counts.held, 1u);
  EXPECT_THAT(store.ListLeases("orders", {}, 0, 10).value(), SizeIs(1));
  EXPECT_THAT(store.GetLease("orders", 0)->grants, SizeIs(1));
  EXPECT_THAT(store.FindOwner("orders", 0, now).value(), SizeIs(1));
  EXPECT_THAT(store.Release({{ReleaseSpec{grant, now}}}, {}), ElementsAre(IsOk()));
  NamespaceUpdate update;
  update.name = "orders";
  update.allow_trust_clock = true;
  EXPECT_TRUE(store.UpdateNamespace(update, admin)->policy.allow_trust_clock);
  const std::vector<uint32_t> ids = {3};
  EXPECT_THAT(store.ReserveIds("orders", ids, admin), IsOk());
  EXPECT_THAT(store.UnreserveIds("orders", ids, std::nullopt, admin), IsOk());
  EXPECT_THAT(store.ForceRelease({"orders", 0, lease.row.token, std::nullopt}, admin),
              ::testing::Not(IsOk()));
  EXPECT_THAT(store.ListAudit("orders", 10).value(), SizeIs(3));
  EXPECT_THAT(store.DeleteNamespace("orders", admin), IsOk());
  EXPECT_EQ(store.Ping()->ms, now.ms);
  std::vector<std::string> operations;
  for (const Seen& seen : recorder_.seen) operations.push_back(seen.operation);
  EXPECT_THAT(operations, ElementsAre("migrate", "claim", "renew", "raise_watermark",
                                      "get_watermark", "list_namespaces", "get_namespace",
                                      "list_leases", "get_lease", "find_owner", "release",
                                      "update_namespace", "reserve_ids", "unreserve_ids",
                                      "force_release", "list_audit", "delete_namespace", "ping"));
  EXPECT_EQ(store.GetCapabilities().backend, "memory");
  EXPECT_EQ(store.StoreId().size(), 32u);
  EXPECT_EQ(store.SchemaVersion(), 1);
}

TEST_F(Decorators, CallAfterItsDeadlineNeverReachesTheStore) {
  DeadlineLeaseStore store(MakeStore(), &clock_);
  const CallOptions options = {clock_.SteadyNow() + Millis(10)};
  const std::vector<ClaimSpec> claims = {ClaimBy("one"), ClaimBy("two")};
  EXPECT_THAT(store.Claim(claims, options), Each(IsOk()));
  clock_.Advance(Millis(10));
  const std::vector<RenewSpec> renewals(3);
  const std::vector<ReleaseSpec> releases(2);
  const std::vector<RaiseSpec> raises(1);
  const auto too_late = Each(HasReason(Reason::kStoreTimeout));
  EXPECT_THAT(store.Claim(claims, options), too_late);
  EXPECT_THAT(store.Renew(renewals, options), too_late);
  EXPECT_THAT(store.Release(releases, options), too_late);
  EXPECT_THAT(store.RaiseWatermark(raises, options), too_late);
  EXPECT_THAT(store.Renew(renewals, options), SizeIs(3));
  EXPECT_EQ(faults_->Calls(StoreOperation::kClaim), 1);
  EXPECT_EQ(faults_->Calls(StoreOperation::kRenew), 0);
  EXPECT_EQ(faults_->Calls(StoreOperation::kRelease), 0);
  EXPECT_EQ(faults_->Calls(StoreOperation::kRaise), 0);
  EXPECT_THAT(store.GetNamespace("orders"), IsOk());
}

}  // namespace
}  // namespace snowlease::storage
