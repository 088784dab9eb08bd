#include "tests/storage/lease_text.h"

#include <sstream>

#include "storage/errors.h"

namespace snowlease::testing {

using namespace storage;  // NOLINT: prints nearly every type of it

namespace {

template <typename Tag>
std::string Time(const std::optional<TimePoint<Tag>>& time) {
  return time ? std::to_string(time->ms) : "none";
}

std::string Hex(const IncarnationId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Pairs(const std::map<std::string, std::string>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) text += key + "=" + value + ",";
  return text;
}

}  // namespace

std::string Describe(const LeaseRow& row) {
  std::ostringstream out;
  out << "id " << row.machine_id << " state " << static_cast<int>(row.state) << " instance "
      << row.instance_id.value_or("none") << " incarnation " << Hex(row.incarnation_id) << " token "
      << row.token << " source " << static_cast<int>(row.source) << " stable " << row.stable
      << " safe_guard " << row.safe_guard.count() << " window " << row.window.count() << " floor "
      << row.floor.ms << " used " << row.used << " window_end " << Time(row.window_end)
      << " watermark " << row.watermark.ms << " fence " << row.fence.ms << " claimed_at "
      << row.claimed_at.ms << " renewed_at " << row.renewed_at.ms << " free_floor "
      << Time(row.free_floor) << " ended_token " << row.ended_token << " end_cause "
      << EndCauseName(row.end_cause);
  return out.str();
}

std::string Describe(const Lease& lease) {
  std::ostringstream out;
  out << Describe(lease.row) << " store_time " << lease.store_time.ms << " expires_at "
      << Time(lease.expires_at) << " superseded_live " << lease.superseded_live_lease
      << " clock_trusted " << lease.clock_trusted << " clock_ahead " << lease.client_clock_ahead
      << " since_renewal " << (lease.since_renewal ? lease.since_renewal->count() : -1);
  return out.str();
}

std::string Describe(const NamespaceRow& row) {
  std::ostringstream out;
  const NamespacePolicy& policy = row.policy;
  out << "namespace " << row.name << " bits " << row.machine_bits << " next " << row.next_machine_id
      << " pinned " << (policy.pinned_safe_guard ? policy.pinned_safe_guard->count() : -1)
      << " trust " << policy.allow_trust_clock << " cap "
      << (policy.lease_cap ? std::to_string(*policy.lease_cap) : "none") << " base "
      << row.base_floor.ms << "/" << row.base_token << " created " << row.created_at.ms
      << " deleted " << row.deleted << " free " << row.counts.free << " held " << row.counts.held
      << " kept " << row.counts.kept << " reserved " << row.counts.reserved;
  return out.str();
}

std::string Describe(const NamespaceDetail& detail) {
  std::ostringstream out;
  out << Describe(detail.row) << " expired " << detail.expired << " free_ahead "
      << detail.free_ahead << " next_expiry " << Time(detail.next_expiry);
  return out.str();
}

std::string Describe(const GrantRow& grant) {
  std::ostringstream out;
  out << "grant " << grant.token << " instance " << grant.instance_id << " incarnation "
      << Hex(grant.incarnation_id) << " source " << static_cast<int>(grant.source) << " granted_at "
      << grant.granted_at.ms << " floor " << grant.floor.ms << " metadata " << Pairs(grant.metadata)
      << " ended_at " << Time(grant.ended_at) << " window_end " << Time(grant.window_end)
      << " cause " << EndCauseName(grant.end_cause) << " unclean " << grant.ended_unclean;
  return out.str();
}

std::string Describe(const LeaseDetail& detail) {
  return Describe(detail.row) + " metadata " + Pairs(detail.metadata) + " store_time " +
         std::to_string(detail.store_time.ms);
}

std::string Describe(const LeaseHistory& history) {
  return Describe(history.lease) + "\n" + Describe(history.grants);
}

std::string Describe(const AuditRow& row) {
  std::ostringstream out;
  out << row.at.ms << " " << row.actor << " " << row.action << " " << row.name_space << " "
      << (row.machine_id ? std::to_string(*row.machine_id) : "none") << " " << row.reason << " "
      << row.detail;
  return out.str();
}

std::string Describe(const WatermarkReading& reading) {
  return "watermark " + std::to_string(reading.watermark.ms) + " store_time " +
         std::to_string(reading.store_time.ms);
}

std::string Describe(const ClientTime& time) { return std::to_string(time.ms); }

std::string Describe(const absl::Status& status) {
  const std::optional<Millis> delay = RetryAfterOf(status);
  return ReasonName(ReasonOf(status)) + " " + Pairs(MetadataOf(status)) + " retry_after " +
         (delay ? std::to_string(delay->count()) : "none");
}

}  // namespace snowlease::testing
