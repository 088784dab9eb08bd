#include "client/cli/admin_tables.h"

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"

namespace snowlease::cli {
namespace {

std::string Policy(const v1::NamespacePolicy& policy) {
  std::vector<std::string> parts;
  if (policy.has_pinned_safe_guard_duration()) {
    parts.push_back("safe-guard=" + FormatDuration(policy.pinned_safe_guard_duration()));
  }
  if (policy.allow_trust_clock()) parts.push_back("trust-clock");
  if (policy.has_lease_cap()) parts.push_back(absl::StrCat("cap=", policy.lease_cap()));
  std::string text;
  for (const std::string& part : parts) absl::StrAppend(&text, text.empty() ? "" : ",", part);
  return text;
}

std::string StateOf(const v1::LeaseRecord& lease) {
  const std::string name = WithoutPrefix(v1::LeaseState_Name(lease.state()), "LEASE_STATE_");
  return lease.expired() ? name + ",EXPIRED" : name;
}

std::string EndOf(const v1::Grant& grant) {
  if (!grant.has_ended_at_ms()) return "held";
  const std::string cause = WithoutPrefix(v1::LossCause_Name(grant.end_cause()), "LOSS_CAUSE_");
  return grant.ended_unclean() ? cause + ",UNCLEAN" : cause;
}

}  // namespace

Table NamespaceTable() {
  return Table({"NAME", "BITS", "CAPACITY", "HELD", "EXPIRED", "KEPT", "FREE", "RESERVED",
                "NEVER_USED", "POLICY", "CREATED"});
}

void AddNamespace(Table& table, const v1::Namespace& name_space) {
  table.Add({name_space.name(), absl::StrCat(name_space.machine_bits()),
             absl::StrCat(name_space.capacity()), absl::StrCat(name_space.held()),
             name_space.has_expired() ? absl::StrCat(name_space.expired()) : "",
             absl::StrCat(name_space.kept()), absl::StrCat(name_space.free()),
             absl::StrCat(name_space.reserved()), absl::StrCat(name_space.never_used()),
             Policy(name_space.policy()), FormatTime(name_space.created_at_ms())});
}

Table LeaseTable() {
  return Table({"MACHINE_ID", "STATE", "INSTANCE", "TOKEN", "WATERMARK", "WINDOW_END", "NEXT_FLOOR",
                "RENEWED", "EXPIRES"});
}

void AddLease(Table& table, const v1::LeaseRecord& lease) {
  const bool held = lease.state() == v1::LEASE_STATE_HELD;
  table.Add({absl::StrCat(lease.machine_id()), StateOf(lease), lease.instance_id(),
             absl::StrCat(lease.token()), FormatMark(lease.watermark_ms()),
             lease.has_window_end_ms() ? FormatTime(lease.window_end_ms()) : "",
             lease.has_next_floor_ms() ? FormatMark(lease.next_floor_ms()) : "never",
             lease.renewed_at_ms() != 0 ? FormatTime(lease.renewed_at_ms()) : "",
             lease.has_expires_at_ms() ? FormatTime(lease.expires_at_ms())
             : held                    ? "never"
                                       : ""});
}

Table GrantTable() {
  return Table({"TOKEN", "INSTANCE", "SOURCE", "GRANTED", "ENDED", "FLOOR", "WINDOW_END", "END"});
}

void AddGrant(Table& table, const v1::Grant& grant) {
  table.Add(
      {absl::StrCat(grant.token()), grant.instance_id(),
       WithoutPrefix(v1::LeaseSource_Name(grant.source()), "LEASE_SOURCE_"),
       FormatTime(grant.granted_at_ms()),
       grant.has_ended_at_ms() ? FormatTime(grant.ended_at_ms()) : "", FormatMark(grant.floor_ms()),
       grant.has_window_end_ms() ? FormatTime(grant.window_end_ms()) : "never", EndOf(grant)});
}

}  // namespace snowlease::cli
