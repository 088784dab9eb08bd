#include "tests/storage/lease_store_conformance.h"

#include <atomic>
#include <stdexcept>

namespace snowlease::testing {

using namespace storage;  // NOLINT: speaks to the store throughout

namespace {

void OrThrow(const absl::Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + status.ToString());
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> result, const std::string& what) {
  OrThrow(result.status(), what);
  return *std::move(result);
}

template <typename Results>
auto Only(Results results) {
  if (results.size() != 1) {
    throw std::runtime_error("one element asked, " + std::to_string(results.size()) + " answered");
  }
  return std::move(results.front());
}

}  // namespace

IncarnationId NewIncarnation() {
  static std::atomic<uint64_t> last{0};
  const uint64_t number = ++last;
  IncarnationId id{0x5e};
  for (int i = 0; i < 8; ++i) id[15 - i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

GrantKey KeyOf(const LeaseRow& row) {
  return {row.name_space, row.machine_id, row.instance_id.value_or(""), row.token};
}

GrantKey KeyOf(const Lease& lease) { return KeyOf(lease.row); }

Proof ProofOf(const Lease& lease, ClientTime reserved_until) {
  return {lease.row.incarnation_id, reserved_until};
}

LeaseStoreConformance::LeaseStoreConformance(const StoreOptions& options)
    : harness_(GetParam().make(options)) {
  harness_->Open();
}

ClaimSpec LeaseStoreConformance::Spec(const std::string& instance, int machine_bits) {
  ClaimSpec spec;
  spec.name_space = kOrders;
  spec.instance_id = instance;
  spec.incarnation_id = NewIncarnation();
  spec.machine_bits = machine_bits;
  spec.safe_guard = kSafeGuard;
  spec.client_time = Now();
  spec.max_wait = kMaxWait;
  return spec;
}

ClaimSpec LeaseStoreConformance::StableSpec(const std::string& instance, int machine_bits) {
  ClaimSpec spec = Spec(instance, machine_bits);
  spec.stable = true;
  return spec;
}

absl::StatusOr<Lease> LeaseStoreConformance::Claim(const ClaimSpec& spec) {
  return Only(store().Claim({&spec, 1}, {}));
}

absl::StatusOr<Lease> LeaseStoreConformance::Renew(const GrantKey& grant, ClientTime last) {
  return RenewAt(grant, Now(), last);
}

absl::StatusOr<Lease> LeaseStoreConformance::RenewAt(const GrantKey& grant, ClientTime client_time,
                                                     ClientTime last) {
  const RenewSpec spec{grant, last, client_time};
  return Only(store().Renew({&spec, 1}, {}));
}

absl::Status LeaseStoreConformance::Release(const GrantKey& grant, std::optional<ClientTime> last) {
  const ReleaseSpec spec{grant, last, false};
  return Only(store().Release({&spec, 1}, {}));
}

absl::Status LeaseStoreConformance::Abandon(const GrantKey& grant) {
  const ReleaseSpec spec{grant, std::nullopt, true};
  return Only(store().Release({&spec, 1}, {}));
}

absl::StatusOr<WatermarkReading> LeaseStoreConformance::Raise(const GrantKey& grant,
                                                              ClientTime to) {
  const RaiseSpec spec{grant, to};
  return Only(store().RaiseWatermark({&spec, 1}, {}));
}

absl::StatusOr<ClientTime> LeaseStoreConformance::Force(uint32_t machine_id, uint64_t token,
                                                        std::optional<Millis> quarantine) {
  return store().ForceRelease({kOrders, machine_id, token, quarantine}, kOperator);
}

Lease LeaseStoreConformance::Claimed(const ClaimSpec& spec) {
  return ValueOrThrow(Claim(spec), "claim of " + spec.instance_id);
}

Lease LeaseStoreConformance::Renewed(const GrantKey& grant, ClientTime last) {
  return ValueOrThrow(Renew(grant, last), "renewal of " + grant.instance_id);
}

void LeaseStoreConformance::Released(const GrantKey& grant, std::optional<ClientTime> last) {
  OrThrow(Release(grant, last), "release of " + grant.instance_id);
}

void LeaseStoreConformance::Updated(const NamespaceUpdate& update) {
  OrThrow(store().UpdateNamespace(update, kOperator).status(), "update of " + update.name);
}

std::vector<Lease> LeaseStoreConformance::ClaimedMany(const std::string& prefix, int count,
                                                      int machine_bits, Millis safe_guard) {
  std::vector<ClaimSpec> specs;
  for (int i = 0; i < count; ++i) {
    specs.push_back(Spec(prefix + std::to_string(i), machine_bits));
    specs.back().safe_guard = safe_guard;
  }
  std::vector<Lease> leases;
  for (absl::StatusOr<Lease>& result : store().Claim(specs, {})) {
    leases.push_back(ValueOrThrow(std::move(result), "claim in a batch"));
  }
  if (leases.size() != specs.size()) throw std::runtime_error("answers are missing");
  return leases;
}

LeaseRow LeaseStoreConformance::Row(uint32_t machine_id, const std::string& name_space) {
  return ValueOrThrow(store().GetLease(name_space, machine_id), "GetLease").lease.row;
}

std::vector<LeaseRow> LeaseStoreConformance::Rows(const std::string& name_space) {
  std::vector<LeaseRow> rows;
  for (LeaseDetail& detail :
       ValueOrThrow(store().ListLeases(name_space, {}, 0, 100'000), "ListLeases")) {
    rows.push_back(std::move(detail.row));
  }
  return rows;
}

NamespaceRow LeaseStoreConformance::Namespace(const std::string& name) {
  return ValueOrThrow(store().GetNamespace(name), "GetNamespace").row;
}

std::vector<GrantRow> LeaseStoreConformance::Grants(uint32_t machine_id) {
  return ValueOrThrow(store().GetLease(kOrders, machine_id), "GetLease").grants;
}

void LeaseStoreConformance::ExpectAbout(ClientTime actual, ClientTime expected) {
  EXPECT_GE(actual, expected - harness_->ClockSlack());
  EXPECT_LE(actual, expected + harness_->ClockSlack());
}

}  // namespace snowlease::testing
