#include "service/rpc/converters.h"

#include <algorithm>

#include "storage/lease_rules.h"

namespace snowlease::service {
namespace {

using google::protobuf::Duration;
using storage::ClientTime;
using storage::Millis;

// The enums of both sides have the same numbers, so that converting is a cast.
static_assert(int{v1::LEASE_STATE_FREE} == int(storage::LeaseState::kFree));
static_assert(int{v1::LEASE_STATE_HELD} == int(storage::LeaseState::kHeld));
static_assert(int{v1::LEASE_STATE_KEPT} == int(storage::LeaseState::kKept));
static_assert(int{v1::LEASE_STATE_RESERVED} == int(storage::LeaseState::kReserved));
static_assert(int{v1::LEASE_SOURCE_OWN} == int(storage::LeaseSource::kOwn));
static_assert(int{v1::LEASE_SOURCE_RELEASED} == int(storage::LeaseSource::kReleased));
static_assert(int{v1::LEASE_SOURCE_NEW} == int(storage::LeaseSource::kNew));
static_assert(int{v1::LEASE_SOURCE_EXPIRED} == int(storage::LeaseSource::kExpired));
static_assert(int{v1::COMEBACK_MODE_MOVE} == int(storage::ComebackMode::kMove));
static_assert(int{v1::COMEBACK_MODE_KEEP} == int(storage::ComebackMode::kKeep));
static_assert(int{v1::COMEBACK_MODE_TRUST_CLOCK} == int(storage::ComebackMode::kTrustClock));
static_assert(int{v1::LOSS_CAUSE_SUPERSEDED} == int(storage::EndCause::kSuperseded));
static_assert(int{v1::LOSS_CAUSE_TAKEN_OVER} == int(storage::EndCause::kTakenOver));
static_assert(int{v1::LOSS_CAUSE_RELEASED} == int(storage::EndCause::kReleased));
static_assert(int{v1::LOSS_CAUSE_REVOKED} == int(storage::EndCause::kRevoked));
static_assert(int{v1::LOSS_CAUSE_UNKNOWN} == int(storage::EndCause::kUnknown));

v1::LeaseSource ToSource(storage::LeaseSource source) {
  return static_cast<v1::LeaseSource>(source);
}

Millis ToMillis(const Duration& duration) {
  return Millis(duration.seconds() * 1000 + duration.nanos() / 1'000'000);
}

void SetDuration(std::chrono::nanoseconds from, Duration* to) {
  constexpr int64_t kNanos = 1'000'000'000;
  to->set_seconds(from.count() / kNanos);
  to->set_nanos(static_cast<int32_t>(from.count() % kNanos));
}

storage::IncarnationId ToIncarnation(const std::string& bytes) {
  storage::IncarnationId id{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), id.size()), id.begin());
  return id;
}

template <typename Request>
storage::GrantKey ToGrantKey(const Request& request) {
  return {request.namespace_(), request.machine_id(), request.instance_id(), request.token()};
}

}  // namespace

storage::ClaimSpec ToClaimSpec(const v1::ClaimRequest& request) {
  storage::ClaimSpec spec;
  spec.name_space = request.namespace_();
  spec.instance_id = request.instance_id();
  spec.incarnation_id = ToIncarnation(request.incarnation_id());
  spec.machine_bits = static_cast<int>(request.machine_bits());
  spec.stable = request.stable();
  if (request.has_safe_guard_duration()) {
    spec.safe_guard = ToMillis(request.safe_guard_duration());
  }
  if (request.has_window()) spec.window = ToMillis(request.window());
  spec.client_time = ClientTime{request.client_time_ms()};
  spec.max_wait = ToMillis(request.max_wait());
  spec.comeback = static_cast<storage::ComebackMode>(request.comeback_mode());
  if (request.has_proof()) {
    spec.proof = storage::Proof{ToIncarnation(request.proof().incarnation_id()),
                                ClientTime{request.proof().reserved_until_ms()}};
  }
  spec.metadata.insert(request.metadata().begin(), request.metadata().end());
  return spec;
}

storage::RenewSpec ToRenewSpec(const v1::RenewRequest& request) {
  return {ToGrantKey(request), ClientTime{request.last_timestamp_ms()},
          ClientTime{request.client_time_ms()}};
}

storage::ReleaseSpec ToReleaseSpec(const v1::ReleaseRequest& request) {
  storage::ReleaseSpec spec;
  spec.grant = ToGrantKey(request);
  if (request.has_last_timestamp_ms()) {
    spec.last_timestamp = ClientTime{request.last_timestamp_ms()};
  }
  spec.abandon = request.abandon();
  return spec;
}

storage::RaiseSpec ToRaiseSpec(const v1::WatermarkRequest& request) {
  const v1::WatermarkRaise& raise = request.raise();
  return {{request.namespace_(), request.machine_id(), raise.instance_id(), raise.token()},
          ClientTime{raise.raise_to_ms()}};
}

storage::NamespaceUpdate ToNamespaceUpdate(const v1::UpdateNamespaceRequest& request) {
  storage::NamespaceUpdate update;
  update.name = request.name();
  if (request.has_machine_bits()) update.machine_bits = static_cast<int>(request.machine_bits());
  if (request.has_pinned_safe_guard_duration()) {
    update.pinned_safe_guard = std::optional(ToMillis(request.pinned_safe_guard_duration()));
  } else if (request.clear_pinned_safe_guard_duration()) {
    update.pinned_safe_guard.emplace(std::nullopt);
  }
  if (request.has_allow_trust_clock()) update.allow_trust_clock = request.allow_trust_clock();
  if (request.has_lease_cap()) {
    update.lease_cap = std::optional<uint64_t>(request.lease_cap());
  } else if (request.clear_lease_cap()) {
    update.lease_cap.emplace(std::nullopt);
  }
  update.allow_missing = request.allow_missing();
  return update;
}

storage::ForceReleaseSpec ToForceReleaseSpec(const v1::ForceReleaseRequest& request) {
  storage::ForceReleaseSpec spec;
  spec.name_space = request.namespace_();
  spec.machine_id = request.machine_id();
  spec.expected_token = request.expected_token();
  if (request.has_quarantine()) spec.quarantine = ToMillis(request.quarantine());
  return spec;
}

storage::LeaseFilter ToLeaseFilter(const v1::ListLeasesRequest& request) {
  storage::LeaseFilter filter;
  if (request.state() != v1::LEASE_STATE_UNSPECIFIED) {
    filter.state = static_cast<storage::LeaseState>(request.state());
  }
  filter.instance_prefix = request.instance_id_prefix();
  return filter;
}

v1::Lease ToLease(const storage::Lease& lease, const LeaseExtras& extras) {
  const storage::LeaseRow& row = lease.row;
  v1::Lease out;
  out.set_namespace_(row.name_space);
  out.set_machine_id(row.machine_id);
  out.set_instance_id(row.instance_id.value_or(""));
  out.set_token(row.token);
  out.set_source(ToSource(row.source));
  out.set_floor_ms(row.floor.ms);
  if (row.window_end) out.set_window_end_ms(row.window_end->ms);
  out.set_watermark_ms(row.watermark.ms);
  SetDuration(row.safe_guard, out.mutable_safe_guard_duration());
  out.set_store_id(extras.store_id);
  out.set_store_time_ms(lease.store_time.ms);
  if (lease.expires_at) out.set_expires_at_ms(lease.expires_at->ms);
  if (extras.renew_after) SetDuration(*extras.renew_after, out.mutable_renew_after());
  out.set_superseded_live_lease(lease.superseded_live_lease);
  if (row.safe_guard == Millis(0)) out.add_warnings(v1::LEASE_WARNING_NEVER_EXPIRES);
  if (lease.clock_trusted) out.add_warnings(v1::LEASE_WARNING_CLOCK_TRUSTED);
  if (lease.client_clock_ahead) out.add_warnings(v1::LEASE_WARNING_CLIENT_CLOCK_AHEAD);
  return out;
}

v1::WatermarkResponse ToWatermarkResponse(const storage::WatermarkReading& reading) {
  v1::WatermarkResponse out;
  out.set_watermark_ms(reading.watermark.ms);
  out.set_store_time_ms(reading.store_time.ms);
  return out;
}

v1::Namespace ToNamespace(const storage::NamespaceRow& row) {
  v1::Namespace out;
  out.set_name(row.name);
  out.set_machine_bits(static_cast<uint32_t>(row.machine_bits));
  const uint64_t capacity = uint64_t{1} << row.machine_bits;
  const storage::LeaseCounts& counts = row.counts;
  const uint64_t rows = counts.free + counts.held + counts.kept + counts.reserved;
  out.set_capacity(capacity);
  out.set_held(counts.held);
  out.set_kept(counts.kept);
  out.set_free(counts.free);
  out.set_reserved(counts.reserved);
  out.set_never_used(capacity - std::min(capacity, rows));
  v1::NamespacePolicy* policy = out.mutable_policy();
  if (row.policy.pinned_safe_guard) {
    SetDuration(*row.policy.pinned_safe_guard, policy->mutable_pinned_safe_guard_duration());
  }
  policy->set_allow_trust_clock(row.policy.allow_trust_clock);
  if (row.policy.lease_cap) policy->set_lease_cap(*row.policy.lease_cap);
  out.set_created_at_ms(row.created_at.ms);
  return out;
}

v1::Namespace ToNamespace(const storage::NamespaceDetail& detail) {
  v1::Namespace out = ToNamespace(detail.row);
  out.set_expired(detail.expired);
  out.set_free_ahead(detail.free_ahead);
  if (detail.next_expiry) out.set_next_expiry_ms(detail.next_expiry->ms);
  return out;
}

v1::LeaseRecord ToLeaseRecord(const storage::LeaseDetail& detail) {
  const storage::LeaseRow& row = detail.row;
  v1::LeaseRecord out;
  out.set_namespace_(row.name_space);
  out.set_machine_id(row.machine_id);
  out.set_state(static_cast<v1::LeaseState>(row.state));
  out.set_instance_id(row.instance_id.value_or(""));
  out.set_token(row.token);
  out.set_source(ToSource(row.source));
  out.set_stable(row.stable);
  SetDuration(row.safe_guard, out.mutable_safe_guard_duration());
  out.set_floor_ms(row.floor.ms);
  if (row.window_end) out.set_window_end_ms(row.window_end->ms);
  out.set_watermark_ms(row.watermark.ms);
  out.set_fence_ms(row.fence.ms);
  if (const auto floor = storage::FloorOf(row)) out.set_next_floor_ms(floor->ms);
  out.set_claimed_at_ms(row.claimed_at.ms);
  out.set_renewed_at_ms(row.renewed_at.ms);
  if (const auto expires = storage::ExpiresAt(row)) out.set_expires_at_ms(expires->ms);
  out.set_expired(storage::IsExpired(row, detail.store_time));
  out.mutable_metadata()->insert(detail.metadata.begin(), detail.metadata.end());
  return out;
}

v1::Grant ToGrant(const storage::GrantRow& row) {
  v1::Grant out;
  out.set_token(row.token);
  out.set_instance_id(row.instance_id);
  out.set_source(ToSource(row.source));
  out.set_granted_at_ms(row.granted_at.ms);
  if (row.ended_at) out.set_ended_at_ms(row.ended_at->ms);
  out.set_floor_ms(row.floor.ms);
  if (row.window_end) out.set_window_end_ms(row.window_end->ms);
  out.set_end_cause(static_cast<v1::LossCause>(row.end_cause));
  out.set_ended_unclean(row.ended_unclean);
  out.mutable_metadata()->insert(row.metadata.begin(), row.metadata.end());
  return out;
}

}  // namespace snowlease::service
