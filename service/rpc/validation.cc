#include "service/rpc/validation.h"

#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "service/rpc/utf8.h"
#include "storage/errors.h"
#include "storage/lease_rules.h"

namespace snowlease::service {
namespace {

using google::protobuf::Duration;
using storage::Millis;

constexpr size_t kMaxNameBytes = 200;
constexpr size_t kMaxReasonBytes = 500;
constexpr size_t kMaxMetadataBytes = 1024;
constexpr size_t kIncarnationBytes = 16;
constexpr int kMaxPageSize = 1000;
constexpr int kMaxMachineIds = 4096;
constexpr int64_t kTimeEnd = int64_t{1} << 53;  // JSON's numbers are exact below
constexpr Millis kDay{24 * 3'600'000};
constexpr Millis kYear = 365 * kDay;

std::string Count(auto number) { return std::to_string(number); }

// Collects what is wrong with the fields of one request.
class Checker {
 public:
  void Add(std::string field, std::string description) {
    violations_.push_back({std::move(field), std::move(description)});
  }

  absl::Status Result() const {
    return violations_.empty() ? absl::OkStatus() : storage::InvalidArgumentError(violations_);
  }

  // Returns whether the text is fine.
  bool Text(const std::string& field, const std::string& text, size_t min, size_t max) {
    const std::string range = Count(min) + ".." + Count(max) + " bytes of UTF-8";
    if (text.size() < min) {
      Add(field, "is required: " + range + " without control characters");
    } else if (text.size() > max) {
      Add(field, "has " + Count(text.size()) + " bytes: shorten it to " + Count(max));
    } else if (const auto at = InvalidUtf8At(text)) {
      Add(field, "is not UTF-8 at byte " + Count(*at) + ": encode it as UTF-8");
    } else if (const auto control = ControlCharacterAt(text)) {
      Add(field, "has a control character at byte " + Count(*control) + ": remove it");
    } else {
      return true;
    }
    return false;
  }

  void Name(const std::string& field, const std::string& text) {
    Text(field, text, 1, kMaxNameBytes);
  }

  void Incarnation(const std::string& field, const std::string& bytes) {
    if (bytes.size() == kIncarnationBytes) return;
    Add(field, "has " + Count(bytes.size()) + " bytes: make exactly 16 random ones");
  }

  void MachineBits(uint32_t bits) {
    if (bits >= 1 && bits <= storage::kMaxMachineBits) return;
    Add("machine_bits", "is " + Count(bits) + ": use 1..30 bits");
  }

  void MachineId(const auto& request) {
    if (!request.has_machine_id()) {
      Add("machine_id", "is required: name the machine id, 0 included");
    } else if (request.machine_id() >> storage::kMaxMachineBits != 0) {
      Add("machine_id", "is " + Count(request.machine_id()) + ": machine ids are below 2^30");
    }
  }

  void Token(const std::string& field, bool present, uint64_t token) {
    if (!present || token == 0) {
      Add(field, "is required: the token of the grant, 1 or more");
    } else if (token > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      Add(field, "is beyond 2^63 - 1: send the token that the grant was given");
    }
  }

  void ClientTime(const auto& request) {
    if (!request.has_client_time_ms()) {
      Add("client_time_ms", "is required: the client's wall clock in ms since 1970");
    } else {
      PlausibleTime("client_time_ms", request.client_time_ms());
    }
  }

  // A timestamp of a lease without window end is bounded by nothing else.
  void PlausibleTime(const std::string& field, int64_t ms) {
    NotNegative(field, ms);
    if (ms >= kTimeEnd) Add(field, "is 2^53 or more: send ms since 1970, not a finer unit");
  }

  void NotNegative(const std::string& field, int64_t ms) {
    if (ms < 0) Add(field, "is negative: send ms since 1970, UTC");
  }

  // The duration in ms when it is valid, whole and not negative.
  std::optional<Millis> WholeMillis(const std::string& field, const Duration& duration) {
    constexpr int64_t kMaxSeconds = 315'576'000'000;
    constexpr int32_t kNanos = 1'000'000'000;
    const int64_t seconds = duration.seconds();
    const int32_t nanos = duration.nanos();
    const bool mixed = (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0);
    if (mixed || nanos <= -kNanos || nanos >= kNanos || seconds > kMaxSeconds ||
        seconds < -kMaxSeconds) {
      Add(field, "is no valid duration: at most 315576000000 s, |nanos| below 10^9, one sign");
    } else if (seconds < 0 || nanos < 0) {
      Add(field, "is negative: use 0 or more");
    } else if (nanos % 1'000'000 != 0) {
      Add(field, "is not a whole number of milliseconds: round it");
    } else {
      return Millis(seconds * 1000 + nanos / 1'000'000);
    }
    return std::nullopt;
  }

  void DurationUpTo(const std::string& field, const Duration& duration, Millis max,
                    const std::string& max_text) {
    const auto value = WholeMillis(field, duration);
    if (value && *value > max) {
      Add(field, "is " + Count(value->count()) + " ms: use 0.." + max_text);
    }
  }

  std::optional<Millis> SafeGuard(const std::string& field, const Duration& duration) {
    const auto value = WholeMillis(field, duration);
    if (value && *value != Millis(0) && (*value < Millis(1000) || *value > kDay)) {
      Add(field, "is " + Count(value->count()) + " ms: use 1 s..24 h, or 0 for never expires");
      return std::nullopt;
    }
    return value;
  }

  void Reason(const std::string& reason) { Text("reason", reason, 1, kMaxReasonBytes); }

  void PageSize(int size) {
    if (size < 0 || size > kMaxPageSize) {
      Add("page_size", "is " + Count(size) + ": use 1..1000, or 0 for 100");
    }
  }

  void MachineIds(const google::protobuf::RepeatedField<uint32_t>& ids) {
    if (ids.empty() || ids.size() > kMaxMachineIds) {
      Add("machine_ids", "has " + Count(ids.size()) + " ids: send 1..4096 of them");
      return;
    }
    std::set<uint32_t> seen;
    for (const uint32_t id : ids) {
      if (id >> storage::kMaxMachineBits != 0) {
        return Add("machine_ids", "has " + Count(id) + ": machine ids are below 2^30");
      }
      if (!seen.insert(id).second) {
        return Add("machine_ids", "has " + Count(id) + " twice: send each once");
      }
    }
  }

 private:
  std::vector<storage::FieldViolation> violations_;
};

void CheckWindow(Checker& check, const v1::ClaimRequest& request,
                 std::optional<Millis> safe_guard) {
  const auto window = check.WholeMillis("window", request.window());
  if (!window) return;
  if (*window == Millis(0)) {
    check.Add("window", "is 0: use 1 ms or more, or leave it out");
  } else if (safe_guard == Millis(0)) {
    check.Add("window", "has no meaning for a lease that never expires: leave it out");
  } else if (safe_guard) {
    const Millis limit = *safe_guard - storage::Margin(*safe_guard);
    if (*window < limit) return;
    check.Add("window", "is " + Count(window->count()) +
                            " ms: it must be shorter than the safe guard duration less its "
                            "margin, " +
                            Count(limit.count()) + " ms; leave it out for exactly that");
  }
}

void CheckProof(Checker& check, const v1::ComebackProof& proof) {
  check.Incarnation("proof.incarnation_id", proof.incarnation_id());
  if (!proof.has_reserved_until_ms()) {
    check.Add("proof.reserved_until_ms", "is required: the last timestamp reserved, 0 for none");
  } else {
    check.PlausibleTime("proof.reserved_until_ms", proof.reserved_until_ms());
  }
}

void CheckMetadata(Checker& check, const v1::ClaimRequest& request) {
  if (request.metadata().empty()) return;
  v1::ClaimRequest alone;
  *alone.mutable_metadata() = request.metadata();
  if (const size_t size = alone.ByteSizeLong(); size > kMaxMetadataBytes) {
    check.Add("metadata", "has " + Count(size) + " bytes serialised: shorten it to 1024");
  }
  for (const auto& [key, value] : request.metadata()) {
    if (!check.Text("metadata.key", key, 1, kMaxMetadataBytes) ||
        !check.Text("metadata.value", value, 0, kMaxMetadataBytes)) {
      return;
    }
  }
}

// What Renew, Release and a raise say about the grant.
template <typename Request>
void CheckGrant(Checker& check, const Request& request, const std::string& prefix = "") {
  check.Name(prefix + "instance_id", request.instance_id());
  check.Token(prefix + "token", request.has_token(), request.token());
}

}  // namespace

absl::Status Validate(const v1::ClaimRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.Name("instance_id", request.instance_id());
  check.Incarnation("incarnation_id", request.incarnation_id());
  check.MachineBits(request.machine_bits());
  std::optional<Millis> safe_guard = storage::ClaimSpec{}.safe_guard;
  if (request.has_safe_guard_duration()) {
    safe_guard = check.SafeGuard("safe_guard_duration", request.safe_guard_duration());
  }
  if (request.has_window()) CheckWindow(check, request, safe_guard);
  check.ClientTime(request);
  if (request.has_max_wait()) check.DurationUpTo("max_wait", request.max_wait(), kDay, "24 h");
  if (!v1::ComebackMode_IsValid(request.comeback_mode())) {
    check.Add("comeback_mode", "is unknown: use MOVE, KEEP, TRUST_CLOCK or leave it out");
  }
  if (request.has_proof()) CheckProof(check, request.proof());
  CheckMetadata(check, request);
  return check.Result();
}

absl::Status Validate(const v1::RenewRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineId(request);
  CheckGrant(check, request);
  check.PlausibleTime("last_timestamp_ms", request.last_timestamp_ms());
  check.ClientTime(request);
  return check.Result();
}

absl::Status Validate(const v1::ReleaseRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineId(request);
  CheckGrant(check, request);
  check.PlausibleTime("last_timestamp_ms", request.last_timestamp_ms());
  if (request.abandon() && request.last_timestamp_ms() > 0) {
    check.Add("abandon", "is for a start that issued nothing: leave last_timestamp_ms out");
  }
  return check.Result();
}

absl::Status Validate(const v1::WatermarkRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineId(request);
  if (request.has_raise()) {
    CheckGrant(check, request.raise(), "raise.");
    if (!request.raise().has_raise_to_ms()) {
      check.Add("raise.raise_to_ms", "is required: the new watermark in ms since 1970");
    }
    check.PlausibleTime("raise.raise_to_ms", request.raise().raise_to_ms());
  }
  return check.Result();
}

absl::Status Validate(const v1::KeepAliveRequest& request) {
  Checker check;
  if (request.renewals_size() > kMaxRenewalsPerMessage) {
    check.Add("renewals", "has " + Count(request.renewals_size()) +
                              " renewals: send at most 1024 in a message");
  }
  return check.Result();
}

absl::Status Validate(const v1::ListNamespacesRequest& request) {
  Checker check;
  check.PageSize(request.page_size());
  return check.Result();
}

absl::Status Validate(const v1::GetNamespaceRequest& request) {
  Checker check;
  check.Name("name", request.name());
  return check.Result();
}

absl::Status Validate(const v1::UpdateNamespaceRequest& request) {
  Checker check;
  check.Name("name", request.name());
  if (request.has_machine_bits()) {
    check.MachineBits(request.machine_bits());
  } else if (request.allow_missing()) {
    check.Add("machine_bits", "is required with allow_missing: 1..30");
  }
  if (request.has_pinned_safe_guard_duration()) {
    check.SafeGuard("pinned_safe_guard_duration", request.pinned_safe_guard_duration());
    if (request.clear_pinned_safe_guard_duration()) {
      check.Add("clear_pinned_safe_guard_duration",
                "contradicts pinned_safe_guard_duration: send one of them");
    }
  }
  if (request.has_lease_cap()) {
    const uint64_t cap = request.lease_cap();
    if (cap == 0 || cap > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      check.Add("lease_cap", "is " + Count(cap) + ": use 1 or more, or clear_lease_cap");
    }
    if (request.clear_lease_cap()) {
      check.Add("clear_lease_cap", "contradicts lease_cap: send one of them");
    }
  }
  check.Reason(request.reason());
  return check.Result();
}

absl::Status Validate(const v1::DeleteNamespaceRequest& request) {
  Checker check;
  check.Name("name", request.name());
  check.Reason(request.reason());
  return check.Result();
}

absl::Status Validate(const v1::ListLeasesRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  if (!v1::LeaseState_IsValid(request.state())) {
    check.Add("state", "is unknown: use FREE, HELD, KEPT, RESERVED or leave it out");
  }
  check.Text("instance_id_prefix", request.instance_id_prefix(), 0, kMaxNameBytes);
  check.PageSize(request.page_size());
  return check.Result();
}

absl::Status Validate(const v1::GetLeaseRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineId(request);
  return check.Result();
}

absl::Status Validate(const v1::ForceReleaseRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineId(request);
  check.Token("expected_token", request.has_expected_token(), request.expected_token());
  check.Reason(request.reason());
  if (request.has_quarantine()) {
    check.DurationUpTo("quarantine", request.quarantine(), kYear, "365 days");
  }
  return check.Result();
}

absl::Status Validate(const v1::ReserveIdsRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineIds(request.machine_ids());
  check.Reason(request.reason());
  return check.Result();
}

absl::Status Validate(const v1::UnreserveIdsRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineIds(request.machine_ids());
  if (request.has_floor_ms()) check.PlausibleTime("floor_ms", request.floor_ms());
  check.Reason(request.reason());
  return check.Result();
}

absl::Status Validate(const v1::FindOwnerRequest& request) {
  Checker check;
  check.Name("namespace", request.namespace_());
  check.MachineId(request);
  if (!request.has_timestamp_ms()) {
    check.Add("timestamp_ms", "is required: the timestamp of the id in ms since 1970");
  }
  check.NotNegative("timestamp_ms", request.timestamp_ms());
  return check.Result();
}

}  // namespace snowlease::service
