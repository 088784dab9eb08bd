#include "storage/fence.h"

#include <algorithm>

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

constexpr int kPage = 1000;

void RaiseBase(NamespaceRow& row, ClientTime floor) {
  row.base_floor = std::max(row.base_floor, floor);
  row.base_token += kFenceTokens;
}

class StoreFence {
 public:
  StoreFence(LeaseRows& rows, ClientTime floor, const AdminContext& admin,
             const RuleContext& context)
      : rows_(rows), admin_(admin), context_(context) {
    summary_.floor = floor;
  }

  FenceSummary Run() {
    FenceNamesToCome();
    std::string after = kEveryNamespace;
    while (true) {
      const std::vector<NamespaceRow> page = rows_.AllNamespaces(after, kPage);
      for (const NamespaceRow& row : page) FenceNamespace(row);
      rows_.Settle();
      if (page.size() < kPage) return summary_;
      after = page.back().name;
    }
  }

 private:
  void FenceNamesToCome() {
    NamespaceRow row = rows_.GetNamespace(kEveryNamespace).value_or(NamespaceRow{});
    row.name = kEveryNamespace;
    row.deleted = true;
    RaiseBase(row, summary_.floor);
    rows_.PutNamespace(row);
    Audit(row.name, 0);
  }

  void FenceNamespace(NamespaceRow row) {
    const uint64_t before = summary_.leases;
    uint64_t from = 0;
    while (from < (uint64_t{1} << kMaxMachineBits)) {
      const auto page = rows_.Scan(row.name, {}, static_cast<uint32_t>(from), kPage);
      for (const LeaseRow& lease : page) FenceLease(lease, row.counts);
      if (page.size() < kPage) break;
      from = uint64_t{page.back().machine_id} + 1;
      rows_.Settle();
    }
    RaiseBase(row, summary_.floor);
    rows_.PutNamespace(row);
    ++summary_.namespaces;
    Audit(row.name, summary_.leases - before);
  }

  void FenceLease(LeaseRow row, LeaseCounts& counts) {
    const bool held = row.state == LeaseState::kHeld;
    if (held) {
      EndUnclean(row, EndCause::kRevoked, context_, context_.options.quarantine);
      rows_.EndGrant(row.name_space, row.machine_id, row.token, context_.now, row.window_end,
                     EndCause::kRevoked, /*unclean=*/true);
    }
    row.fence = std::max(row.fence, summary_.floor);
    row.token += kFenceTokens;
    if (held) {
      counts.held -= 1;
      (row.stable ? counts.kept : counts.free) += 1;
      row.stable ? Keep(row) : Free(row);
      ++summary_.ended;
    } else if (row.state == LeaseState::kFree) {
      row.free_floor = FloorOf(row);
    }
    rows_.Put(row);
    ++summary_.leases;
  }

  void Audit(const std::string& name_space, uint64_t leases) {
    rows_.AddAudit(
        {context_.now, admin_.actor, "Fence", name_space, std::nullopt, admin_.reason,
         "floor_ms=" + std::to_string(summary_.floor.ms) + " leases=" + std::to_string(leases)});
  }

  LeaseRows& rows_;
  const AdminContext& admin_;
  const RuleContext& context_;
  FenceSummary summary_;
};

}  // namespace

absl::StatusOr<FenceSummary> Fence(LeaseRows& rows, Millis ahead, const AdminContext& admin,
                                   const RuleContext& context) {
  if (ahead <= Millis(0) || ahead > kLongestFence) {
    return InvalidArgumentError({{"ahead", "must be above 0 and at most 30 days"}});
  }
  return StoreFence(rows, context.Reference() + ahead, admin, context).Run();
}

NamespaceRow NewNamespaceRow(LeaseRows& rows, const std::string& name,
                             const std::optional<NamespaceRow>& tombstone) {
  NamespaceRow row = tombstone ? NamespaceFromTombstone(*tombstone) : NamespaceRow{};
  row.name = name;
  if (const auto every = rows.GetNamespace(kEveryNamespace)) {
    row.base_floor = std::max(row.base_floor, every->base_floor);
    row.base_token = std::max(row.base_token, every->base_token);
  }
  return row;
}

}  // namespace snowlease::storage
