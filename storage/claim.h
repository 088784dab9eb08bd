#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "storage/expiry_search.h"
#include "storage/lease_rows.h"
#include "storage/lease_rules.h"

namespace snowlease::storage::internal {

// One claim: checks, retry, then the sources in their order (docs/semantics.md,
// "Claim"). Lives for one call of ClaimLease; writes nothing before it grants.
class Claim {
 public:
  Claim(LeaseRows& rows, const ClaimSpec& spec, const RuleContext& context);

  absl::StatusOr<Lease> Run();

 private:
  absl::Status CheckClock() const;
  absl::Status LoadNamespace();
  absl::Status CheckPolicy() const;

  // The instance's own row: a grant or an error ends the claim; nothing goes on
  // with other machine ids.
  std::optional<absl::StatusOr<Lease>> TryOwn();
  std::optional<absl::StatusOr<Lease>> ComeBack();
  absl::Status OwnWindowOpen(const std::optional<ClientTime>& floor) const;

  std::optional<Lease> TryReleased();
  std::optional<Lease> TryNew();
  std::optional<Lease> TryExpired();
  ExpirySearch LockLongestExpired();
  absl::Status Refusal();

  // May the claimant wait for this floor? If not, remembers that a row was passed over.
  bool CanUse(ClientTime floor);
  bool AtCap() const;

  Lease GrantRow(LeaseRow row, LeaseSource source, ClientTime floor);
  void GiveUpOwn();

  LeaseRows& rows_;
  const ClaimSpec& spec_;
  const RuleContext& context_;
  const ComebackMode mode_;
  const ClientTime highest_floor_;

  NamespaceRow name_space_;
  uint64_t id_limit_ = 0;        // machine ids of this claim are below it
  std::optional<LeaseRow> own_;  // given up when another machine id is granted
  bool own_is_proven_ = false;
  bool own_is_endless_ = false;          // HELD without window end
  bool own_fits_ = false;                // below id_limit_
  std::optional<ClientTime> own_floor_;  // beyond what the claimant can wait for
  bool superseded_live_lease_ = false;
  std::optional<ClientTime> lowest_passed_floor_;
};

}  // namespace snowlease::storage::internal
