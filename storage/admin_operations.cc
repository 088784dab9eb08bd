#include "storage/admin_operations.h"

#include <algorithm>
#include <set>

#include "storage/errors.h"
#include "storage/fence.h"

namespace snowlease::storage {
namespace {

constexpr int kScanPage = 1000;

absl::Status NoNamespace(const std::string& name) {
  return NotFoundError("namespace \"" + name + "\" does not exist");
}

std::string IdText(const std::string& name_space, uint32_t machine_id) {
  return "machine id " + std::to_string(machine_id) + " of namespace \"" + name_space + "\"";
}

absl::StatusOr<NamespaceRow> LiveNamespace(LeaseRows& rows, const std::string& name) {
  auto row = rows.GetNamespace(name);
  if (!row || row->deleted) return NoNamespace(name);
  return *std::move(row);
}

void Audit(LeaseRows& rows, const std::string& action, const std::string& name_space,
           std::optional<uint32_t> machine_id, const std::string& detail, const AdminContext& admin,
           const RuleContext& context) {
  rows.AddAudit({context.now, admin.actor, action, name_space, machine_id, admin.reason, detail});
}

template <typename Visit>
void ForEachLease(LeaseRows& rows, const std::string& name_space, const LeaseFilter& filter,
                  Visit visit) {
  uint64_t from = 0;
  while (from < (uint64_t{1} << kMaxMachineBits)) {
    const auto page = rows.Scan(name_space, filter, static_cast<uint32_t>(from), kScanPage);
    for (const LeaseRow& row : page) visit(row);
    if (page.size() < kScanPage) return;
    from = uint64_t{page.back().machine_id} + 1;
  }
}

// Metadata belongs to the present grant; an ended one shows it in its history.
LeaseDetail DetailOf(LeaseRows& rows, const LeaseRow& row, const RuleContext& context) {
  LeaseDetail detail;
  detail.row = row;
  detail.store_time = context.now;
  if (row.instance_id) {
    auto grant = rows.FindGrant(row.name_space, row.machine_id, row.token);
    if (grant) detail.metadata = std::move(grant->metadata);
  }
  return detail;
}

std::string DescribeChange(const NamespaceUpdate& update) {
  std::string text;
  if (update.machine_bits) text += "machine_bits=" + std::to_string(*update.machine_bits) + " ";
  if (update.pinned_safe_guard) {
    const auto& pinned = *update.pinned_safe_guard;
    text += "pinned_safe_guard_ms=" + (pinned ? std::to_string(pinned->count()) : "none") + " ";
  }
  if (update.allow_trust_clock) {
    text += std::string("allow_trust_clock=") + (*update.allow_trust_clock ? "true " : "false ");
  }
  if (update.lease_cap) {
    const auto& cap = *update.lease_cap;
    text += "lease_cap=" + (cap ? std::to_string(*cap) : "none") + " ";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

absl::StatusOr<NamespaceRow> NewNamespace(LeaseRows& rows,
                                          const std::optional<NamespaceRow>& tombstone,
                                          const NamespaceUpdate& update,
                                          const RuleContext& context) {
  if (!update.allow_missing || !update.machine_bits) {
    return NotFoundError("namespace \"" + update.name +
                         "\" does not exist: to create it set allow_missing and machine_bits");
  }
  NamespaceRow row = NewNamespaceRow(rows, update.name, tombstone);
  row.created_at = context.now;
  return row;
}

// The grant that the operator expected has ended before: fine if an operator ended it.
absl::StatusOr<ClientTime> AlreadyEnded(LeaseRows& rows, const LeaseRow& row,
                                        const ForceReleaseSpec& spec) {
  const auto past = rows.FindGrant(spec.name_space, spec.machine_id, spec.expected_token);
  EndCause cause = EndCause::kUnknown;
  if (past && past->end_cause != EndCause::kNone) {
    cause = past->end_cause;
  } else if (row.ended_token == spec.expected_token) {
    cause = row.end_cause;
  }
  if (cause != EndCause::kRevoked) {
    return MachineIdLostError(cause, {spec.name_space, spec.machine_id, "", spec.expected_token});
  }
  const ClientTime ended = past && past->window_end ? *past->window_end : row.fence;
  return FloorOf(row).value_or(ended);
}

}  // namespace

absl::StatusOr<NamespaceRow> UpdateNamespace(LeaseRows& rows, const NamespaceUpdate& update,
                                             const AdminContext& admin,
                                             const RuleContext& context) {
  auto found = rows.GetNamespace(update.name);
  NamespaceRow row;
  if (found && !found->deleted) {
    row = *std::move(found);
  } else {
    auto created = NewNamespace(rows, found, update, context);
    if (!created.ok()) return created.status();
    row = *std::move(created);
  }
  if (update.machine_bits && *update.machine_bits < row.machine_bits) {
    return NamespacePolicyError(
        row.name, "machine_bits can only be raised, from " + std::to_string(row.machine_bits));
  }
  row.machine_bits = update.machine_bits.value_or(row.machine_bits);
  if (update.pinned_safe_guard) row.policy.pinned_safe_guard = *update.pinned_safe_guard;
  if (update.allow_trust_clock) row.policy.allow_trust_clock = *update.allow_trust_clock;
  if (update.lease_cap) row.policy.lease_cap = *update.lease_cap;
  rows.PutNamespace(row);
  Audit(rows, "UpdateNamespace", row.name, std::nullopt, DescribeChange(update), admin, context);
  return row;
}

absl::Status DeleteNamespace(LeaseRows& rows, const std::string& name, const AdminContext& admin,
                             const RuleContext& context) {
  auto row = LiveNamespace(rows, name);
  if (!row.ok()) return row.status();
  uint64_t live = 0;
  NamespaceRow tombstone;
  tombstone.name = name;
  tombstone.deleted = true;
  tombstone.base_floor = row->base_floor;
  tombstone.base_token = row->base_token;
  ForEachLease(rows, name, {}, [&](const LeaseRow& lease) {
    // While the clocks disagree nobody is known to have expired.
    const bool expired = IsExpired(lease, context.now) && !context.TakeoversPaused();
    if (lease.state == LeaseState::kHeld && !expired) ++live;
    tombstone.base_floor = std::max(tombstone.base_floor, FloorOf(lease).value_or(ClientTime{0}));
    tombstone.base_token = std::max(tombstone.base_token, lease.token);
  });
  if (live > 0 || row->counts.kept > 0 || row->counts.reserved > 0) {
    return NamespaceNotEmptyError(*row, live);
  }
  rows.DropLeases(name);
  rows.PutNamespace(tombstone);
  Audit(rows, "DeleteNamespace", name, std::nullopt,
        "base_floor_ms=" + std::to_string(tombstone.base_floor.ms) +
            " base_token=" + std::to_string(tombstone.base_token),
        admin, context);
  return absl::OkStatus();
}

absl::StatusOr<ClientTime> ForceRelease(LeaseRows& rows, const ForceReleaseSpec& spec,
                                        const AdminContext& admin, const RuleContext& context) {
  auto row = rows.Get(spec.name_space, spec.machine_id);
  if (!row) return NotFoundError(IdText(spec.name_space, spec.machine_id) + " was never granted");
  const bool held = row->state == LeaseState::kHeld;
  if ((!held && row->state != LeaseState::kKept) || row->token != spec.expected_token) {
    return AlreadyEnded(rows, *row, spec);
  }
  const std::string holder = row->instance_id.value_or("");
  if (held) {
    EndUnclean(*row, EndCause::kRevoked, context,
               spec.quarantine.value_or(context.options.quarantine));
  } else {
    // It was released cleanly: its window is known and needs no fence.
    EndClean(*row, row->watermark, EndCause::kRevoked);
  }
  Free(*row);
  rows.Put(*row);
  rows.EndGrant(spec.name_space, spec.machine_id, row->token, context.now, row->window_end,
                EndCause::kRevoked, held);
  NamespaceRow name_space = *rows.GetNamespace(spec.name_space);
  (held ? name_space.counts.held : name_space.counts.kept) -= 1;
  name_space.counts.free += 1;
  rows.PutNamespace(name_space);
  Audit(rows, "ForceRelease", spec.name_space, spec.machine_id,
        "token=" + std::to_string(row->token) + " instance_id=" + holder, admin, context);
  return *row->free_floor;
}

absl::Status ReserveIds(LeaseRows& rows, const std::string& name_space,
                        std::span<const uint32_t> ids, const AdminContext& admin,
                        const RuleContext& context) {
  auto space = LiveNamespace(rows, name_space);
  if (!space.ok()) return space.status();
  std::vector<LeaseRow> reserved;
  // A set: an id named twice counts once.
  for (const uint32_t id : std::set(ids.begin(), ids.end())) {
    if (id >= uint64_t{1} << space->machine_bits) {
      return NamespacePolicyError(name_space, "machine id " + std::to_string(id) +
                                                  " is beyond its size; nothing was reserved");
    }
    auto row = rows.Get(name_space, id);
    if (row && row->state != LeaseState::kFree) {
      return NamespacePolicyError(
          name_space, "machine id " + std::to_string(id) + " is in use; nothing was reserved");
    }
    if (row) space->counts.free -= 1;
    space->counts.reserved += 1;
    reserved.push_back(row ? *std::move(row) : NewLeaseRow(*space, id));
    reserved.back().state = LeaseState::kReserved;
    reserved.back().free_floor.reset();
  }
  for (const LeaseRow& row : reserved) {
    rows.Put(row);
    Audit(rows, "ReserveIds", name_space, row.machine_id, "", admin, context);
  }
  rows.PutNamespace(*space);
  return absl::OkStatus();
}

absl::Status UnreserveIds(LeaseRows& rows, const std::string& name_space,
                          std::span<const uint32_t> ids, std::optional<ClientTime> floor,
                          const AdminContext& admin, const RuleContext& context) {
  auto space = LiveNamespace(rows, name_space);
  if (!space.ok()) return space.status();
  const ClientTime fence = floor.value_or(context.LatestClient());
  std::vector<LeaseRow> freed;
  for (const uint32_t id : std::set(ids.begin(), ids.end())) {
    auto row = rows.Get(name_space, id);
    if (!row || row->state != LeaseState::kReserved) {
      return NamespacePolicyError(name_space, "machine id " + std::to_string(id) +
                                                  " is not reserved; nothing was unreserved");
    }
    row->fence = std::max(row->fence, fence);
    Free(*row);
    freed.push_back(*std::move(row));
  }
  for (const LeaseRow& row : freed) {
    rows.Put(row);
    Audit(rows, "UnreserveIds", name_space, row.machine_id,
          "floor_ms=" + std::to_string(row.free_floor->ms), admin, context);
  }
  space->counts.reserved -= freed.size();
  space->counts.free += freed.size();
  rows.PutNamespace(*space);
  return absl::OkStatus();
}

absl::StatusOr<NamespaceDetail> DescribeNamespace(LeaseRows& rows, const std::string& name,
                                                  const RuleContext& context) {
  auto row = LiveNamespace(rows, name);
  if (!row.ok()) return row.status();
  NamespaceDetail detail;
  detail.row = *std::move(row);
  LeaseFilter filter;
  filter.state = LeaseState::kHeld;
  ForEachLease(rows, name, filter, [&](const LeaseRow& lease) {
    if (IsExpired(lease, context.now)) ++detail.expired;
    if (const auto at = ExpiresAt(lease)) {
      detail.next_expiry = std::min(*at, detail.next_expiry.value_or(*at));
    }
  });
  filter.state = LeaseState::kFree;
  ForEachLease(rows, name, filter, [&](const LeaseRow& lease) {
    if (*lease.free_floor > context.Reference()) ++detail.free_ahead;
  });
  return detail;
}

absl::StatusOr<std::vector<LeaseDetail>> ListLeases(LeaseRows& rows, const std::string& name_space,
                                                    const LeaseFilter& filter, uint32_t from,
                                                    int limit, const RuleContext& context) {
  auto space = LiveNamespace(rows, name_space);
  if (!space.ok()) return space.status();
  std::vector<LeaseDetail> details;
  for (const LeaseRow& row : rows.Scan(name_space, filter, from, limit)) {
    details.push_back(DetailOf(rows, row, context));
  }
  return details;
}

absl::StatusOr<LeaseHistory> DescribeLease(LeaseRows& rows, const std::string& name_space,
                                           uint32_t machine_id, const RuleContext& context) {
  auto row = rows.Get(name_space, machine_id);
  if (!row) return NotFoundError(IdText(name_space, machine_id) + " was never granted");
  LeaseHistory history;
  history.lease = DetailOf(rows, *row, context);
  history.grants = rows.Grants(name_space, machine_id);
  for (GrantRow& grant : history.grants) {
    const bool present = row->state == LeaseState::kHeld && grant.token == row->token;
    if (present) grant.window_end = row->window_end;
  }
  return history;
}

absl::StatusOr<std::vector<GrantRow>> FindOwner(LeaseRows& rows, const std::string& name_space,
                                                uint32_t machine_id, ClientTime timestamp) {
  auto history = DescribeLease(rows, name_space, machine_id, {});
  if (!history.ok()) return history.status();
  std::vector<GrantRow> owners;
  for (GrantRow& grant : history->grants) {
    const bool before_end = !grant.window_end || timestamp <= *grant.window_end;
    if (timestamp > grant.floor && before_end) owners.push_back(std::move(grant));
  }
  return owners;
}

absl::StatusOr<WatermarkReading> ReadWatermark(LeaseRows& rows, const std::string& name_space,
                                               uint32_t machine_id, const RuleContext& context) {
  auto row = rows.Get(name_space, machine_id);
  if (!row) return NotFoundError(IdText(name_space, machine_id) + " was never granted");
  return WatermarkReading{row->watermark, context.now};
}

}  // namespace snowlease::storage
