#include "storage/lease_rules.h"

#include <algorithm>
#include <cstdlib>

namespace snowlease::storage {
namespace {

constexpr Millis kLargestMargin{10'000};

// How the present grant ended, kept for the answer to its holder's next call.
void MarkEnded(LeaseRow& row, EndCause cause) {
  row.ended_token = row.token;
  row.end_cause = cause;
}

}  // namespace

ClientTime RuleContext::Reference() const { return {std::max(now.ms, host_now.ms)}; }

bool RuleContext::TakeoversPaused() const {
  return std::abs(now.ms - host_now.ms) > options.max_clock_ahead.count();
}

Millis Margin(Millis safe_guard) { return std::min(kLargestMargin, safe_guard / 10); }

Millis WindowLength(Millis safe_guard, std::optional<Millis> window) {
  if (safe_guard == Millis(0)) return Millis(0);
  const Millis longest = safe_guard - Margin(safe_guard);
  return window ? std::min(*window, longest) : longest;
}

bool IsExpirable(const LeaseRow& row) {
  return row.state == LeaseState::kHeld && row.safe_guard > Millis(0) && !row.stable;
}

std::optional<StoreTime> ExpiresAt(const LeaseRow& row) {
  if (!IsExpirable(row)) return std::nullopt;
  return row.renewed_at + row.safe_guard;
}

bool IsExpired(const LeaseRow& row, StoreTime now) {
  const auto expires_at = ExpiresAt(row);
  return expires_at && *expires_at <= now;
}

std::optional<ClientTime> FloorOf(const LeaseRow& row) {
  const ClientTime ended = std::max(row.watermark, row.fence);
  if (row.state != LeaseState::kHeld) return ended;
  if (!row.window_end) return std::nullopt;
  return std::max(ended, *row.window_end);
}

ClientTime WindowEnd(ClientTime client_time, Millis window, const RuleContext& context) {
  return std::min(client_time, context.LatestClient()) + window;
}

void EndClean(LeaseRow& row, ClientTime last, EndCause cause) {
  RaiseTo(row, last);
  row.window_end = row.watermark;
  MarkEnded(row, cause);
}

void EndUnclean(LeaseRow& row, EndCause cause, const RuleContext& context, Millis quarantine) {
  if (row.window_end) {
    row.fence = std::max(row.fence, *row.window_end);
  } else {
    row.fence = std::max({row.fence, row.watermark, context.Reference()}) + quarantine;
    row.window_end = row.fence;
  }
  MarkEnded(row, cause);
}

void EndTrusted(LeaseRow& row) { MarkEnded(row, EndCause::kSuperseded); }

void Free(LeaseRow& row) {
  row.state = LeaseState::kFree;
  row.instance_id.reset();
  row.stable = false;
  row.free_floor = FloorOf(row);
}

void Keep(LeaseRow& row) { row.state = LeaseState::kKept; }

void Grant(LeaseRow& row, const ClaimSpec& spec, LeaseSource source, ClientTime floor,
           const RuleContext& context) {
  row.state = LeaseState::kHeld;
  row.instance_id = spec.instance_id;
  row.incarnation_id = spec.incarnation_id;
  row.token += 1;
  row.source = source;
  row.stable = spec.stable;
  row.safe_guard = spec.safe_guard;
  row.window = WindowLength(spec.safe_guard, spec.window);
  row.floor = floor;
  row.used = false;
  row.watermark = std::max(row.watermark, floor);
  row.window_end.reset();
  if (spec.safe_guard > Millis(0)) {
    row.window_end = std::max(WindowEnd(spec.client_time, row.window, context), floor);
  }
  row.claimed_at = context.now;
  row.renewed_at = context.now;
  row.free_floor.reset();
}

LeaseRow NewLeaseRow(const NamespaceRow& name_space, uint32_t machine_id) {
  LeaseRow row;
  row.name_space = name_space.name;
  row.machine_id = machine_id;
  row.token = name_space.base_token;
  row.watermark = name_space.base_floor;
  row.fence = name_space.base_floor;
  return row;
}

NamespaceRow NamespaceFromTombstone(const NamespaceRow& tombstone) {
  NamespaceRow row;
  row.name = tombstone.name;
  row.base_floor = tombstone.base_floor;
  row.base_token = tombstone.base_token;
  return row;
}

GrantRow GrantOf(const LeaseRow& row, const Metadata& metadata) {
  GrantRow grant;
  grant.token = row.token;
  grant.instance_id = row.instance_id.value_or("");
  grant.incarnation_id = row.incarnation_id;
  grant.source = row.source;
  grant.granted_at = row.claimed_at;
  grant.floor = row.floor;
  grant.metadata = metadata;
  return grant;
}

Extension Extend(LeaseRow& row, ClientTime client_time, const RuleContext& context) {
  Extension extension;
  extension.client_clock_ahead = client_time > context.LatestClient();
  extension.store_clock_went_back = context.now < row.renewed_at;
  row.renewed_at = context.now;
  if (row.window_end) {
    row.window_end = std::max(*row.window_end, WindowEnd(client_time, row.window, context));
  }
  return extension;
}

void RaiseTo(LeaseRow& row, ClientTime last) {
  const ClientTime raised = row.window_end ? std::min(last, *row.window_end) : last;
  row.watermark = std::max(row.watermark, raised);
}

ClientTime HighestFloor(const ClaimSpec& spec) {
  return spec.client_time + spec.waited + spec.max_wait;
}

bool ProofHolds(const LeaseRow& row, const std::optional<Proof>& proof) {
  return proof && row.state == LeaseState::kHeld && proof->incarnation_id == row.incarnation_id &&
         proof->reserved_until >= row.watermark;
}

ComebackMode ModeOf(const ClaimSpec& spec) {
  if (spec.comeback != ComebackMode::kDefault) return spec.comeback;
  return spec.stable ? ComebackMode::kKeep : ComebackMode::kMove;
}

}  // namespace snowlease::storage
