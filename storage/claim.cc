#include "storage/claim.h"

#include <algorithm>
#include <set>

#include "storage/errors.h"
#include "storage/fence.h"
#include "storage/lease_operations.h"

namespace snowlease::storage::internal {

Claim::Claim(LeaseRows& rows, const ClaimSpec& spec, const RuleContext& context)
    : rows_(rows),
      spec_(spec),
      context_(context),
      mode_(ModeOf(spec)),
      highest_floor_(HighestFloor(spec)) {}

absl::StatusOr<Lease> Claim::Run() {
  if (auto status = CheckClock(); !status.ok()) return status;
  if (auto status = LoadNamespace(); !status.ok()) return status;
  if (auto status = CheckPolicy(); !status.ok()) return status;
  id_limit_ = uint64_t{1} << spec_.machine_bits;
  if (auto decided = TryOwn()) return *std::move(decided);
  if (auto lease = TryReleased()) return *std::move(lease);
  if (auto lease = TryNew()) return *std::move(lease);
  if (auto lease = TryExpired()) return *std::move(lease);
  return Refusal();
}

absl::Status Claim::CheckClock() const {
  if (spec_.client_time <= context_.LatestClient()) return absl::OkStatus();
  return ClockSkewError(spec_.client_time - context_.Reference(), context_.options.max_clock_ahead);
}

absl::Status Claim::LoadNamespace() {
  auto found = rows_.GetNamespace(spec_.name_space);
  if (found && !found->deleted) {
    name_space_ = *std::move(found);
    return absl::OkStatus();
  }
  if (!spec_.may_create_namespace) {
    return NamespacePolicyError(spec_.name_space,
                                "it does not exist and the server's namespaces.create does not "
                                "allow claims to create it: have an operator create it");
  }
  name_space_ = NewNamespaceRow(rows_, spec_.name_space, found);
  name_space_.machine_bits = spec_.machine_bits;
  name_space_.created_at = context_.now;
  return absl::OkStatus();
}

absl::Status Claim::CheckPolicy() const {
  const NamespacePolicy& policy = name_space_.policy;
  if (spec_.machine_bits > name_space_.machine_bits) {
    return NamespacePolicyError(name_space_.name,
                                "machine_bits " + std::to_string(spec_.machine_bits) +
                                    " is above the namespace's " +
                                    std::to_string(name_space_.machine_bits) +
                                    ": ask for at most that, or have an operator raise it");
  }
  if (policy.pinned_safe_guard && *policy.pinned_safe_guard != spec_.safe_guard) {
    return NamespacePolicyError(
        name_space_.name, "safe_guard_duration must be " +
                              std::to_string(policy.pinned_safe_guard->count()) + " ms, not " +
                              std::to_string(spec_.safe_guard.count()) + " ms");
  }
  if (mode_ == ComebackMode::kTrustClock && !policy.allow_trust_clock) {
    return NamespacePolicyError(name_space_.name,
                                "comeback_mode COMEBACK_MODE_TRUST_CLOCK is not allowed here");
  }
  return absl::OkStatus();
}

std::optional<absl::StatusOr<Lease>> Claim::TryOwn() {
  own_ = rows_.FindInstance(spec_.name_space, spec_.instance_id);
  if (!own_) return std::nullopt;
  const bool held = own_->state == LeaseState::kHeld;
  if (held && own_->incarnation_id == spec_.incarnation_id) {
    if (own_->used) return IncarnationReusedError(spec_.instance_id);
    return ExtendLease(rows_, *own_, spec_.client_time, context_);
  }
  own_is_proven_ = ProofHolds(*own_, spec_.proof);
  own_is_endless_ = held && !own_->window_end;
  superseded_live_lease_ =
      held && !own_is_proven_ &&
      (own_->safe_guard == Millis(0) || context_.now - own_->renewed_at < own_->safe_guard);
  own_fits_ = own_->machine_id < id_limit_;
  if (!own_fits_ && spec_.stable) {
    return NamespacePolicyError(
        spec_.name_space, "the instance's own machine id " + std::to_string(own_->machine_id) +
                              " does not fit machine_bits " + std::to_string(spec_.machine_bits) +
                              ": ask for more bits");
  }
  const bool needs_proof = own_is_endless_ && mode_ != ComebackMode::kTrustClock;
  if (needs_proof && !own_is_proven_) return OwnWindowOpen(std::nullopt);
  if (!own_fits_) return std::nullopt;
  return ComeBack();
}

std::optional<absl::StatusOr<Lease>> Claim::ComeBack() {
  LeaseRow next = *own_;
  const bool held = next.state == LeaseState::kHeld;
  // The end of a lease without window end is known to nobody: its fence would be a guess.
  bool trusted = own_is_endless_ && !own_is_proven_;
  if (held && own_is_proven_) {
    EndClean(next, spec_.proof->reserved_until, EndCause::kSuperseded);
  } else if (trusted) {
    EndTrusted(next);
  } else if (held) {
    EndUnclean(next, EndCause::kSuperseded, context_, context_.options.quarantine);
  }
  ClientTime floor = std::max(next.watermark, trusted ? next.floor : next.fence);
  if (floor > highest_floor_ && mode_ == ComebackMode::kTrustClock) {
    // The fence stays up for whoever comes after the claimant.
    trusted = true;
    floor = std::max(next.watermark, next.floor);
  }
  if (floor > highest_floor_) {
    own_floor_ = floor;
    // A lease without window end is never moved away from: its fence would be a guess.
    if (mode_ != ComebackMode::kMove || own_is_endless_) return OwnWindowOpen(floor);
    return std::nullopt;
  }
  if (held) {
    rows_.EndGrant(next.name_space, next.machine_id, next.token, context_.now, next.window_end,
                   EndCause::kSuperseded, !own_is_proven_);
  } else {
    name_space_.counts.kept -= 1;
    name_space_.counts.held += 1;
  }
  Lease lease = GrantRow(std::move(next), LeaseSource::kOwn, floor);
  lease.clock_trusted = trusted;
  return lease;
}

absl::Status Claim::OwnWindowOpen(const std::optional<ClientTime>& floor) const {
  std::optional<Millis> wait;
  if (floor) wait = *floor - (spec_.client_time + spec_.waited);
  return WindowOpenError(spec_.name_space, own_->machine_id, floor, wait);
}

std::optional<Lease> Claim::TryReleased() {
  if (AtCap()) return std::nullopt;
  auto row = rows_.LowestFree(spec_.name_space, id_limit_);
  if (!row || !CanUse(*row->free_floor)) return std::nullopt;
  GiveUpOwn();
  name_space_.counts.free -= 1;
  name_space_.counts.held += 1;
  const ClientTime floor = *row->free_floor;
  return GrantRow(*std::move(row), LeaseSource::kReleased, floor);
}

std::optional<Lease> Claim::TryNew() {
  if (AtCap()) return std::nullopt;
  // Operators may have reserved numbers ahead of the first claim.
  uint32_t number = name_space_.next_machine_id;
  while (number < id_limit_ && rows_.Get(spec_.name_space, number)) ++number;
  if (number != name_space_.next_machine_id) {
    // Remembered whatever becomes of this claim, so that they are passed over once only.
    name_space_.next_machine_id = number;
    rows_.PutNamespace(name_space_);
  }
  if (number >= id_limit_ || !CanUse(name_space_.base_floor)) return std::nullopt;
  GiveUpOwn();
  name_space_.next_machine_id = number + 1;
  name_space_.counts.held += 1;
  return GrantRow(NewLeaseRow(name_space_, number), LeaseSource::kNew, name_space_.base_floor);
}

std::optional<Lease> Claim::TryExpired() {
  if (spec_.stable || context_.TakeoversPaused()) return std::nullopt;
  ExpirySearch search = LockLongestExpired();
  if (search.lowest_passed_floor) CanUse(*search.lowest_passed_floor);
  if (!search.longest_expired) return std::nullopt;
  GiveUpOwn();
  LeaseRow row = *std::move(search.longest_expired);
  EndUnclean(row, EndCause::kTakenOver, context_, context_.options.quarantine);
  rows_.EndGrant(row.name_space, row.machine_id, row.token, context_.now, row.window_end,
                 EndCause::kTakenOver, /*unclean=*/true);
  rows_.SetBlockBound(row.name_space, row.machine_id / kExpiryBlockSize, search.bound_without_it);
  const ClientTime floor = std::max(row.watermark, row.fence);
  return GrantRow(std::move(row), LeaseSource::kExpired, floor);
}

ExpirySearch Claim::LockLongestExpired() {
  std::set<uint32_t> own;
  if (own_) own.insert(own_->machine_id);
  // A lease that somebody holds locked is most likely being renewed, so another one is
  // tried first; but nothing is said to be exhausted before a look that waits.
  for (const bool wait : {false, true}) {
    std::set<uint32_t> except = own;
    while (true) {
      ExpirySearch search = FindLongestExpired(rows_, spec_.name_space, id_limit_, highest_floor_,
                                               except, context_.now);
      if (!search.longest_expired) {
        if (wait || except == own) return search;
        break;
      }
      auto locked = rows_.LockHeld(*search.longest_expired, wait);
      const bool expired = locked && IsExpired(*locked, context_.now);
      if (expired && CanUse(*FloorOf(*locked))) {
        search.longest_expired = std::move(locked);
        return search;
      }
      except.insert(search.longest_expired->machine_id);
    }
  }
  return {};
}

absl::Status Claim::Refusal() {
  const bool paused = !spec_.stable && context_.TakeoversPaused();
  if (own_ && own_fits_) return OwnWindowOpen(own_floor_);
  if (AtCap()) {
    return CapExceededError(name_space_.name, *name_space_.policy.lease_cap,
                            name_space_.counts.held + name_space_.counts.kept);
  }
  if (lowest_passed_floor_) {
    return ClockBehindError(name_space_.name, *lowest_passed_floor_,
                            *lowest_passed_floor_ - (spec_.client_time + spec_.waited), paused);
  }
  return MachineIdOverflowError(name_space_, id_limit_,
                                FindNextExpiry(rows_, spec_.name_space, id_limit_), context_.now,
                                paused);
}

bool Claim::CanUse(ClientTime floor) {
  if (floor <= highest_floor_) return true;
  lowest_passed_floor_ = std::min(floor, lowest_passed_floor_.value_or(floor));
  return false;
}

bool Claim::AtCap() const {
  if (!name_space_.policy.lease_cap) return false;
  // The own lease, if any, is given up for the new one.
  const uint64_t in_use = name_space_.counts.held + name_space_.counts.kept - (own_ ? 1 : 0);
  return in_use >= *name_space_.policy.lease_cap;
}

Lease Claim::GrantRow(LeaseRow row, LeaseSource source, ClientTime floor) {
  Grant(row, spec_, source, floor, context_);
  rows_.Put(row);
  if (const auto expires_at = ExpiresAt(row)) {
    rows_.LowerBlockBound(row.name_space, row.machine_id / kExpiryBlockSize, *expires_at);
  }
  rows_.AddGrant(row.name_space, row.machine_id, GrantOf(row, spec_.metadata),
                 context_.options.grants_kept);
  rows_.PutNamespace(name_space_);
  Lease lease = LeaseOf(row, context_);
  lease.superseded_live_lease = superseded_live_lease_;
  return lease;
}

void Claim::GiveUpOwn() {
  if (!own_) return;
  const bool held = own_->state == LeaseState::kHeld;
  if (held) {
    EndUnclean(*own_, EndCause::kSuperseded, context_, context_.options.quarantine);
    rows_.EndGrant(own_->name_space, own_->machine_id, own_->token, context_.now, own_->window_end,
                   EndCause::kSuperseded, /*unclean=*/true);
  }
  (held ? name_space_.counts.held : name_space_.counts.kept) -= 1;
  name_space_.counts.free += 1;
  Free(*own_);
  // Before the new grant is written: an instance has one row at most.
  rows_.Put(*own_);
  own_.reset();
}

}  // namespace snowlease::storage::internal
