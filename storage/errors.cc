#include "storage/errors.h"

#include <charconv>
#include <string_view>

#include "absl/strings/cord.h"

namespace snowlease::storage {
namespace {

constexpr char kPayloadUrl[] = "snowlease/error";

// Keys of our own among the payload's pairs; metadata keys never start with '!'.
constexpr char kReasonKey[] = "!reason";
constexpr char kRetryAfterKey[] = "!retry_after_ms";
constexpr char kViolationKey[] = "!violation";

struct ReasonEntry {
  Reason reason;
  const char* name;
  absl::StatusCode code;  // for logs only; service/rpc/status_table decides on the wire
};

constexpr ReasonEntry kReasons[] = {
    {Reason::kNone, "OK", absl::StatusCode::kOk},
    {Reason::kInvalidArgument, "INVALID_ARGUMENT", absl::StatusCode::kInvalidArgument},
    {Reason::kPageTokenInvalid, "PAGE_TOKEN_INVALID", absl::StatusCode::kInvalidArgument},
    {Reason::kMachineIdOverflow, "MACHINE_ID_OVERFLOW", absl::StatusCode::kResourceExhausted},
    {Reason::kCapExceeded, "CAP_EXCEEDED", absl::StatusCode::kResourceExhausted},
    {Reason::kMachineIdLost, "MACHINE_ID_LOST", absl::StatusCode::kFailedPrecondition},
    {Reason::kClockSkew, "CLOCK_SKEW", absl::StatusCode::kFailedPrecondition},
    {Reason::kClockBehind, "CLOCK_BEHIND", absl::StatusCode::kFailedPrecondition},
    {Reason::kWindowOpen, "WINDOW_OPEN", absl::StatusCode::kFailedPrecondition},
    {Reason::kNamespacePolicy, "NAMESPACE_POLICY", absl::StatusCode::kFailedPrecondition},
    {Reason::kIncarnationReused, "INCARNATION_REUSED", absl::StatusCode::kFailedPrecondition},
    {Reason::kNamespaceNotEmpty, "NAMESPACE_NOT_EMPTY", absl::StatusCode::kFailedPrecondition},
    {Reason::kStoreReset, "STORE_RESET", absl::StatusCode::kFailedPrecondition},
    {Reason::kStoreUnavailable, "STORE_UNAVAILABLE", absl::StatusCode::kUnavailable},
    {Reason::kStoreTimeout, "STORE_TIMEOUT", absl::StatusCode::kUnavailable},
    {Reason::kDraining, "DRAINING", absl::StatusCode::kUnavailable},
    {Reason::kOverloaded, "OVERLOADED", absl::StatusCode::kUnavailable},
    {Reason::kNotFound, "NOT_FOUND", absl::StatusCode::kNotFound},
    {Reason::kAdminDisabled, "ADMIN_DISABLED", absl::StatusCode::kPermissionDenied},
    {Reason::kPermissionDenied, "PERMISSION_DENIED", absl::StatusCode::kPermissionDenied},
    {Reason::kUnauthenticated, "UNAUTHENTICATED", absl::StatusCode::kUnauthenticated},
    {Reason::kInternal, "INTERNAL", absl::StatusCode::kInternal},
};

const ReasonEntry& EntryOf(Reason reason) { return kReasons[static_cast<size_t>(reason)]; }

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Pairs as "<length>:<bytes>" twice each, so that any byte may stand in a value.
void AppendText(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

std::string TakeText(std::string_view& in) {
  size_t length = 0;
  const auto [end, error] = std::from_chars(in.data(), in.data() + in.size(), length);
  if (error != std::errc() || end == in.data() + in.size()) {
    in = {};
    return {};
  }
  in.remove_prefix(static_cast<size_t>(end - in.data()) + 1);
  std::string text(in.substr(0, length));
  in.remove_prefix(std::min(length, in.size()));
  return text;
}

Pairs PairsOf(const absl::Status& status) {
  Pairs pairs;
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return pairs;
  const std::string bytes(*payload);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    std::string key = TakeText(rest);
    pairs.emplace_back(std::move(key), TakeText(rest));
  }
  return pairs;
}

absl::Status Make(Reason reason, const std::string& message, const ErrorMetadata& metadata = {},
                  std::optional<Millis> retry_after = std::nullopt,
                  const std::vector<FieldViolation>& violations = {}) {
  std::string bytes;
  const auto add = [&bytes](std::string_view key, std::string_view value) {
    AppendText(bytes, key);
    AppendText(bytes, value);
  };
  add(kReasonKey, std::to_string(static_cast<int>(reason)));
  if (retry_after) add(kRetryAfterKey, std::to_string(retry_after->count()));
  for (const auto& [key, value] : metadata) add(key, value);
  for (const FieldViolation& violation : violations) {
    std::string both;
    AppendText(both, violation.field);
    AppendText(both, violation.description);
    add(kViolationKey, both);
  }
  absl::Status status(EntryOf(reason).code, message);
  status.SetPayload(kPayloadUrl, absl::Cord(bytes));
  return status;
}

std::optional<int64_t> NumberOf(const absl::Status& status, std::string_view wanted) {
  for (const auto& [key, value] : PairsOf(status)) {
    if (key != wanted) continue;
    int64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number;
  }
  return std::nullopt;
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

std::string PausedNote(bool takeovers_paused) {
  return takeovers_paused ? "; takeovers of expired leases are paused because the store's clock "
                            "and the server's differ: correct the clocks"
                          : "";
}

}  // namespace

Reason ReasonOf(const absl::Status& status) {
  if (status.ok()) return Reason::kNone;
  const auto number = NumberOf(status, kReasonKey);
  return number ? static_cast<Reason>(*number) : Reason::kInternal;
}

std::string ReasonName(Reason reason) { return EntryOf(reason).name; }

ErrorMetadata MetadataOf(const absl::Status& status) {
  ErrorMetadata metadata;
  for (auto& [key, value] : PairsOf(status)) {
    if (!key.starts_with('!')) metadata.emplace(key, value);
  }
  return metadata;
}

std::optional<Millis> RetryAfterOf(const absl::Status& status) {
  const auto number = NumberOf(status, kRetryAfterKey);
  if (!number) return std::nullopt;
  return Millis(*number);
}

std::string EndCauseName(EndCause cause) {
  switch (cause) {
    case EndCause::kNone:
      return "NONE";
    case EndCause::kSuperseded:
      return "SUPERSEDED";
    case EndCause::kTakenOver:
      return "TAKEN_OVER";
    case EndCause::kReleased:
      return "RELEASED";
    case EndCause::kRevoked:
      return "REVOKED";
    case EndCause::kUnknown:
      break;
  }
  return "UNKNOWN";
}

EndCause LossCauseOf(const absl::Status& status) {
  if (ReasonOf(status) != Reason::kMachineIdLost) return EndCause::kNone;
  const std::string name = MetadataOf(status)["cause"];
  for (const EndCause cause :
       {EndCause::kSuperseded, EndCause::kTakenOver, EndCause::kReleased, EndCause::kRevoked}) {
    if (EndCauseName(cause) == name) return cause;
  }
  return EndCause::kUnknown;
}

absl::Status InvalidArgumentError(const std::vector<FieldViolation>& violations) {
  std::string message;
  for (const FieldViolation& violation : violations) {
    if (!message.empty()) message += "; ";
    message += violation.field + ": " + violation.description;
  }
  return Make(Reason::kInvalidArgument, message, {}, std::nullopt, violations);
}

std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  for (const auto& [key, value] : PairsOf(status)) {
    if (key != kViolationKey) continue;
    std::string_view rest = value;
    std::string field = TakeText(rest);
    violations.push_back({std::move(field), TakeText(rest)});
  }
  return violations;
}

absl::Status PageTokenInvalidError() {
  return Make(Reason::kPageTokenInvalid,
              "page_token: not one that this query was given; start again without it");
}

absl::Status MachineIdOverflowError(const NamespaceRow& name_space, uint64_t size,
                                    std::optional<StoreTime> next_expiry, StoreTime now,
                                    bool takeovers_paused) {
  const LeaseCounts& counts = name_space.counts;
  ErrorMetadata metadata = {{"namespace", name_space.name},
                            {"size", std::to_string(size)},
                            {"held", std::to_string(counts.held)},
                            {"kept", std::to_string(counts.kept)},
                            {"reserved", std::to_string(counts.reserved)}};
  std::string message = "no machine id of namespace " + Quoted(name_space.name) + " is free: all " +
                        std::to_string(size) + " are in use (" + std::to_string(counts.held) +
                        " held, " + std::to_string(counts.kept) + " kept, " +
                        std::to_string(counts.reserved) + " reserved)";
  std::optional<Millis> retry_after;
  if (next_expiry) {
    retry_after = std::max(*next_expiry - now, Millis(0));
    metadata["next_expiry_ms"] = std::to_string(next_expiry->ms);
    message += "; the next lease expires in " + std::to_string(retry_after->count()) +
               " ms unless it is renewed";
  }
  if (takeovers_paused) metadata["takeovers_paused"] = "true";
  return Make(Reason::kMachineIdOverflow, message + PausedNote(takeovers_paused), metadata,
              retry_after);
}

absl::Status CapExceededError(const std::string& name_space, uint64_t cap, uint64_t in_use) {
  return Make(Reason::kCapExceeded,
              "namespace " + Quoted(name_space) + " has " + std::to_string(in_use) +
                  " leases held or kept and its cap is " + std::to_string(cap) +
                  ": release some or have the cap raised",
              {{"namespace", name_space},
               {"cap", std::to_string(cap)},
               {"in_use", std::to_string(in_use)}});
}

absl::Status MachineIdLostError(EndCause cause, const GrantKey& grant) {
  return Make(Reason::kMachineIdLost,
              "the grant of machine id " + std::to_string(grant.machine_id) + " of namespace " +
                  Quoted(grant.name_space) + " with token " + std::to_string(grant.token) +
                  " is not the caller's any more: " + EndCauseName(cause),
              {{"cause", EndCauseName(cause)},
               {"namespace", grant.name_space},
               {"machine_id", std::to_string(grant.machine_id)}});
}

absl::Status ClockSkewError(Millis ahead, Millis allowed) {
  return Make(Reason::kClockSkew,
              "client_time_ms is " + std::to_string(ahead.count()) +
                  " ms ahead of the server, more than the allowed " +
                  std::to_string(allowed.count()) + " ms: correct the client's clock",
              {{"ahead_ms", std::to_string(ahead.count())},
               {"allowed_ms", std::to_string(allowed.count())}});
}

absl::Status ClockBehindError(const std::string& name_space, ClientTime lowest_floor, Millis wait,
                              bool takeovers_paused) {
  return Make(Reason::kClockBehind,
              "every machine id of namespace " + Quoted(name_space) +
                  " that could be granted starts above the client's clock, the lowest by " +
                  std::to_string(wait.count()) + " ms: correct the client's clock" +
                  PausedNote(takeovers_paused),
              {{"namespace", name_space},
               {"lowest_floor_ms", std::to_string(lowest_floor.ms)},
               {"wait_ms", std::to_string(wait.count())}});
}

absl::Status WindowOpenError(const std::string& name_space, uint32_t machine_id,
                             std::optional<ClientTime> until, std::optional<Millis> wait) {
  ErrorMetadata metadata = {{"namespace", name_space}, {"machine_id", std::to_string(machine_id)}};
  std::string message = "the instance's earlier window of machine id " +
                        std::to_string(machine_id) + " in namespace " + Quoted(name_space);
  if (until) {
    metadata["until"] = std::to_string(until->ms);
    message += " is still open for " + std::to_string(wait.value_or(Millis(0)).count()) +
               " ms: wait, mount the state directory, or use COMEBACK_MODE_MOVE";
  } else {
    message += " has no end (safe guard duration 0): an operator must force its release";
  }
  return Make(Reason::kWindowOpen, message, metadata, wait);
}

absl::Status NamespacePolicyError(const std::string& name_space, const std::string& what) {
  return Make(Reason::kNamespacePolicy, "namespace " + Quoted(name_space) + ": " + what,
              {{"namespace", name_space}});
}

absl::Status IncarnationReusedError(const std::string& instance_id) {
  return Make(Reason::kIncarnationReused,
              "incarnation_id of instance " + Quoted(instance_id) +
                  " has already been used: make a new random one for every grant wanted");
}

absl::Status NamespaceNotEmptyError(const NamespaceRow& name_space, uint64_t unexpired) {
  return Make(Reason::kNamespaceNotEmpty,
              "namespace " + Quoted(name_space.name) + " has " + std::to_string(unexpired) +
                  " live leases, " + std::to_string(name_space.counts.kept) + " kept and " +
                  std::to_string(name_space.counts.reserved) +
                  " reserved machine ids: release, force-release or unreserve them first",
              {{"namespace", name_space.name},
               {"held", std::to_string(unexpired)},
               {"kept", std::to_string(name_space.counts.kept)},
               {"reserved", std::to_string(name_space.counts.reserved)}});
}

absl::Status StoreResetError(Millis quarantine_left) {
  return Make(Reason::kStoreReset,
              "the store has lost its contents: no claims until leases granted before are over", {},
              quarantine_left);
}

absl::Status StoreUnavailableError(const std::string& what) {
  return Make(Reason::kStoreUnavailable, "the store is not available: " + what);
}

absl::Status StoreTimeoutError(const std::string& what) {
  return Make(Reason::kStoreTimeout, "the store did not answer in time: " + what);
}

absl::Status DrainingError() {
  return Make(Reason::kDraining, "this server is shutting down: use another one");
}

absl::Status OverloadedError(const std::string& what, Millis pushback) {
  return Make(Reason::kOverloaded, "this server is overloaded: " + what, {}, pushback);
}

absl::Status NotFoundError(const std::string& what) { return Make(Reason::kNotFound, what); }

absl::Status AdminDisabledError() {
  return Make(Reason::kAdminDisabled,
              "the admin service is disabled on this server: start it with --admin-enabled");
}

absl::Status PermissionDeniedError(const std::string& what) {
  return Make(Reason::kPermissionDenied, what);
}

absl::Status UnauthenticatedError(const std::string& what) {
  return Make(Reason::kUnauthenticated, what);
}

absl::Status InternalError(const std::string& what) { return Make(Reason::kInternal, what); }

}  // namespace snowlease::storage
