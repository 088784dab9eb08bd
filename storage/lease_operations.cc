#include "storage/lease_operations.h"

#include <algorithm>

#include "storage/claim.h"
#include "storage/errors.h"

namespace snowlease::storage {
namespace {

bool IsHeldBy(const std::optional<LeaseRow>& row, const GrantKey& grant) {
  return row && row->state == LeaseState::kHeld && row->token == grant.token &&
         row->instance_id == grant.instance_id;
}

// Was this very grant released, and the machine id not granted since?
bool IsReleasedGrant(LeaseRows& rows, const std::optional<LeaseRow>& row, const GrantKey& grant) {
  if (!row || row->state == LeaseState::kHeld || row->ended_token != grant.token ||
      row->end_cause != EndCause::kReleased) {
    return false;
  }
  const auto past = rows.FindGrant(grant.name_space, grant.machine_id, grant.token);
  return !past || past->instance_id == grant.instance_id;
}

// Token of the row's last grant. After a fence the row's own token is ahead of it.
uint64_t LastGranted(const LeaseRow& row) {
  return row.state == LeaseState::kHeld ? row.token : row.ended_token;
}

absl::Status Lost(LeaseRows& rows, const std::optional<LeaseRow>& row, const GrantKey& grant) {
  return MachineIdLostError(LossCause(rows, row, grant), grant);
}

}  // namespace

Lease LeaseOf(const LeaseRow& row, const RuleContext& context) {
  Lease lease;
  lease.row = row;
  lease.store_time = context.now;
  lease.expires_at = ExpiresAt(row);
  return lease;
}

absl::StatusOr<Lease> ClaimLease(LeaseRows& rows, const ClaimSpec& spec,
                                 const RuleContext& context) {
  return internal::Claim(rows, spec, context).Run();
}

absl::StatusOr<Lease> ExtendLease(LeaseRows& rows, LeaseRow row, ClientTime client_time,
                                  const RuleContext& context) {
  const Extension extension = Extend(row, client_time, context);
  rows.PutRenewal(row);
  if (extension.store_clock_went_back && IsExpirable(row)) {
    rows.LowerBlockBound(row.name_space, row.machine_id / kExpiryBlockSize, *ExpiresAt(row));
  }
  Lease lease = LeaseOf(row, context);
  lease.client_clock_ahead = extension.client_clock_ahead;
  return lease;
}

absl::StatusOr<Lease> RenewLease(LeaseRows& rows, const RenewSpec& spec,
                                 const RuleContext& context) {
  auto row = rows.Get(spec.grant.name_space, spec.grant.machine_id);
  if (!IsHeldBy(row, spec.grant)) return Lost(rows, row, spec.grant);
  RaiseTo(*row, spec.last_timestamp);
  row->used = true;
  const Millis since_renewal = context.now - row->renewed_at;
  absl::StatusOr<Lease> lease = ExtendLease(rows, *std::move(row), spec.client_time, context);
  if (lease.ok()) lease->since_renewal = since_renewal;
  return lease;
}

absl::Status ReleaseLease(LeaseRows& rows, const ReleaseSpec& spec, const RuleContext& context) {
  const GrantKey& grant = spec.grant;
  auto row = rows.Get(grant.name_space, grant.machine_id);
  if (!IsHeldBy(row, grant)) {
    if (IsReleasedGrant(rows, row, grant)) return absl::OkStatus();
    return Lost(rows, row, grant);
  }
  const bool clean = spec.abandon || spec.last_timestamp.has_value();
  if (clean) {
    EndClean(*row, spec.abandon ? ClientTime{0} : *spec.last_timestamp, EndCause::kReleased);
  } else {
    EndUnclean(*row, EndCause::kReleased, context, context.options.quarantine);
  }
  const bool give_up = spec.abandon && row->source != LeaseSource::kOwn;
  const bool keep = row->stable && !give_up;
  if (keep) {
    Keep(*row);
  } else {
    Free(*row);
  }
  rows.Put(*row);
  rows.EndGrant(grant.name_space, grant.machine_id, grant.token, context.now, row->window_end,
                EndCause::kReleased, !clean);
  NamespaceRow name_space = *rows.GetNamespace(grant.name_space);
  name_space.counts.held -= 1;
  (keep ? name_space.counts.kept : name_space.counts.free) += 1;
  rows.PutNamespace(name_space);
  return absl::OkStatus();
}

absl::StatusOr<WatermarkReading> RaiseLeaseWatermark(LeaseRows& rows, const RaiseSpec& spec,
                                                     const RuleContext& context) {
  auto row = rows.Get(spec.grant.name_space, spec.grant.machine_id);
  if (!IsHeldBy(row, spec.grant)) return Lost(rows, row, spec.grant);
  RaiseTo(*row, spec.raise_to);
  row->used = true;
  rows.PutRenewal(*row);
  return WatermarkReading{row->watermark, context.now};
}

EndCause LossCause(LeaseRows& rows, const std::optional<LeaseRow>& row, const GrantKey& grant) {
  const auto other = rows.FindInstance(grant.name_space, grant.instance_id);
  if (other) {
    const bool same_id = other->machine_id == grant.machine_id;
    const bool held_elsewhere = other->state == LeaseState::kHeld && !same_id;
    if (held_elsewhere || (same_id && LastGranted(*other) > grant.token))
      return EndCause::kSuperseded;
    if (other->state == LeaseState::kHeld && other->token != grant.token) {
      return EndCause::kSuperseded;
    }
  }
  if (!row) return EndCause::kUnknown;
  const auto past = rows.FindGrant(grant.name_space, grant.machine_id, grant.token);
  if (past && past->instance_id != grant.instance_id) return EndCause::kUnknown;
  if (past && past->end_cause != EndCause::kNone) return past->end_cause;
  if (row->ended_token == grant.token) return row->end_cause;
  // Older than the kept history: whoever came next had taken it over or found it free.
  return grant.token < LastGranted(*row) ? EndCause::kTakenOver : EndCause::kUnknown;
}

}  // namespace snowlease::storage
