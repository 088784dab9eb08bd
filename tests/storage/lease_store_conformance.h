#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/errors.h"
#include "tests/storage/lease_text.h"
#include "tests/storage/store_harness.h"
#include "tests/testing/matchers.h"

// The one suite that every backend passes. Its tests are written from
// docs/semantics.md; comments name the invariants (W1, O1, ...) and the field reports
// (F.., M..) that a test stands for.

namespace snowlease::testing {

using storage::AdminContext;
using storage::ClaimSpec;
using storage::ClientTime;
using storage::ComebackMode;
using storage::EndCause;
using storage::GrantKey;
using storage::Lease;
using storage::LeaseRow;
using storage::LeaseSource;
using storage::LeaseState;
using storage::Millis;
using storage::Proof;
using storage::Reason;
using storage::ReleaseSpec;
using storage::RenewSpec;
using storage::StoreTime;
using ::testing::Not;

inline constexpr Millis kMinute{60'000};
inline constexpr Millis kSafeGuard{300'000};
inline constexpr Millis kWindow{290'000};  // safe guard less its margin of 10 s
inline constexpr Millis kMaxClockAhead{60'000};
inline constexpr Millis kMaxWait{500};
inline constexpr char kOrders[] = "orders";

// A new incarnation, different from all before.
storage::IncarnationId NewIncarnation();
GrantKey KeyOf(const LeaseRow& row);
GrantKey KeyOf(const Lease& lease);
// The proof that a predecessor leaves: all timestamps up to `reserved_until` are its own.
Proof ProofOf(const Lease& lease, ClientTime reserved_until);

class LeaseStoreConformance : public ::testing::TestWithParam<Backend> {
 protected:
  LeaseStoreConformance() : LeaseStoreConformance(storage::StoreOptions{}) {}
  explicit LeaseStoreConformance(const storage::StoreOptions& options);

  StoreHarness& harness() { return *harness_; }
  storage::LeaseStore& store() { return harness_->store(); }
  ClientTime Now() { return harness_->Now(); }
  void Advance(Millis by) { harness_->Advance(by); }

  // A claim of namespace "orders" by the instance's next incarnation, with a good
  // clock, safe guard 5 min and max_wait 500 ms.
  ClaimSpec Spec(const std::string& instance, int machine_bits = 10);
  ClaimSpec StableSpec(const std::string& instance, int machine_bits = 10);

  absl::StatusOr<Lease> Claim(const ClaimSpec& spec);
  absl::StatusOr<Lease> Renew(const GrantKey& grant, ClientTime last = {});
  absl::StatusOr<Lease> RenewAt(const GrantKey& grant, ClientTime client_time,
                                ClientTime last = {});
  absl::Status Release(const GrantKey& grant, std::optional<ClientTime> last);
  absl::Status Abandon(const GrantKey& grant);
  absl::StatusOr<storage::WatermarkReading> Raise(const GrantKey& grant, ClientTime to);
  absl::StatusOr<ClientTime> Force(uint32_t machine_id, uint64_t token,
                                   std::optional<Millis> quarantine = std::nullopt);

  // The same, for calls that the test takes for granted: they throw on an error.
  Lease Claimed(const ClaimSpec& spec);
  Lease Renewed(const GrantKey& grant, ClientTime last = {});
  void Released(const GrantKey& grant, std::optional<ClientTime> last);
  void Updated(const storage::NamespaceUpdate& update);
  // Claims `count` ids in one batch for instances "<prefix>0", "<prefix>1", ...
  std::vector<Lease> ClaimedMany(const std::string& prefix, int count, int machine_bits,
                                 Millis safe_guard = kSafeGuard);

  LeaseRow Row(uint32_t machine_id, const std::string& name_space = kOrders);
  std::vector<LeaseRow> Rows(const std::string& name_space = kOrders);
  storage::NamespaceRow Namespace(const std::string& name = kOrders);
  std::vector<storage::GrantRow> Grants(uint32_t machine_id);

  // Is the time as expected, give or take what the clocks ran by themselves?
  void ExpectAbout(ClientTime actual, ClientTime expected);

  const AdminContext kOperator{"ada", "test"};

 private:
  std::unique_ptr<StoreHarness> harness_;
};

// Tests that move the store clock against the host's (M11); for backends whose clock
// is not the host's own.
class LeaseStoreClockSteps : public LeaseStoreConformance {};

// Compares a backend with the reference model step by step; for backends with fake clocks.
class LeaseStoreLockstep : public LeaseStoreConformance {};

inline std::string BackendName(const ::testing::TestParamInfo<Backend>& backend) {
  return backend.param.name;
}

}  // namespace snowlease::testing
