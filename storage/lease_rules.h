#pragma once

#include <optional>

#include "absl/status/status.h"
#include "storage/lease.h"
#include "storage/lease_store.h"

// The pure rules of a lease: no I/O, no clock, no order between rows. Each takes
// what it decides on and returns the decision; docs/semantics.md is their text.

namespace snowlease::storage {

// What the rules know of the moment they decide in.
struct RuleContext {
  StoreTime now;      // store clock, read under the locks of the decision
  HostTime host_now;  // clock of the server's host
  StoreOptions options;

  // The later of store clock and host clock, on the scale of ids.
  ClientTime Reference() const;
  // The latest clock a client may have.
  ClientTime LatestClient() const { return Reference() + options.max_clock_ahead; }
  // Store clock and host clock differ by more than max_clock_ahead: nobody is
  // evicted on the word of a store clock that may have leapt.
  bool TakeoversPaused() const;
};

// min(10 s, safe guard / 10).
Millis Margin(Millis safe_guard);
// Window length of a claim: safe guard - margin, or the shorter one it asked for; 0
// when the lease never expires.
Millis WindowLength(Millis safe_guard, std::optional<Millis> window);

// Can the row ever be taken over?
bool IsExpirable(const LeaseRow& row);
// When a HELD row expires; none: never.
std::optional<StoreTime> ExpiresAt(const LeaseRow& row);
bool IsExpired(const LeaseRow& row, StoreTime now);

// Timestamps up to the floor are not the next holder's: max(watermark, fence, window
// end if HELD). None: a HELD row without window end, whose floor is beyond any clock.
std::optional<ClientTime> FloorOf(const LeaseRow& row);

// End of the window that a call with this client clock may open: min(client clock,
// latest client) + length.
ClientTime WindowEnd(ClientTime client_time, Millis window, const RuleContext& context);

// The ways a grant ends; each remembers the cause. The caller then grants the row anew
// or moves it to FREE or KEPT.
// Clean: nothing above `last` was issued; the window is trimmed to it.
void EndClean(LeaseRow& row, ClientTime last, EndCause cause);
// Unclean: the whole window may have been issued; raises the fence. A lease without
// window end rests for `quarantine` from the reference clock.
void EndUnclean(LeaseRow& row, EndCause cause, const RuleContext& context, Millis quarantine);
// TRUST_CLOCK: superseded on the word of the clock, outside the promise.
void EndTrusted(LeaseRow& row);

// Moves the row of an ended grant to FREE, or to KEPT for its stable instance.
void Free(LeaseRow& row);
void Keep(LeaseRow& row);

// Makes the row the claimant's: token + 1, floor as given, a window from the client's
// clock. The grant before it has ended.
void Grant(LeaseRow& row, const ClaimSpec& spec, LeaseSource source, ClientTime floor,
           const RuleContext& context);

// A machine id that was never granted, above what a deleted namespace of the name knew.
LeaseRow NewLeaseRow(const NamespaceRow& name_space, uint32_t machine_id);
// An empty namespace that goes on where the deleted one ended.
NamespaceRow NamespaceFromTombstone(const NamespaceRow& tombstone);
// The history entry of the row's present grant.
GrantRow GrantOf(const LeaseRow& row, const Metadata& metadata);

// Extends a HELD row for its holder, by the client's clock or what is allowed of it.
struct Extension {
  bool client_clock_ahead = false;
  bool store_clock_went_back = false;  // renewed_at became earlier: bounds must be lowered
};
Extension Extend(LeaseRow& row, ClientTime client_time, const RuleContext& context);

// Raises the watermark of a HELD row, never beyond its window and never down.
void RaiseTo(LeaseRow& row, ClientTime last);

// Highest floor a claimant can wait for.
ClientTime HighestFloor(const ClaimSpec& spec);

// Is the proof about this row's grant, and not below what is known to be issued?
bool ProofHolds(const LeaseRow& row, const std::optional<Proof>& proof);

// The mode in force: MOVE or KEEP by stability when the claim names none.
ComebackMode ModeOf(const ClaimSpec& spec);

}  // namespace snowlease::storage
