#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/batching/group_commit_events.h"
#include "storage/lease.h"

namespace snowlease::service {

// A call that GroupCommitter has not answered yet. The core knows it by its address.
struct PendingCall {
  PendingCall(CallKind k, SteadyTime d) : kind(k), deadline(d) {}
  virtual ~PendingCall() = default;

  virtual CallKey Key() const = 0;
  // Answers without the store.
  virtual void Fail(absl::Status status) = 0;

  CallId id() const { return reinterpret_cast<uintptr_t>(this); }
  static PendingCall* Of(CallId id) { return reinterpret_cast<PendingCall*>(id); }

  const CallKind kind;
  const SteadyTime deadline;
  SteadyTime arrived;
};

inline CallKey KeyOf(const storage::GrantKey& grant) {
  return {.name_space = grant.name_space,
          .instance_id = grant.instance_id,
          .machine_id = grant.machine_id,
          .token = grant.token};
}
inline CallKey KeyOf(const storage::RenewSpec& spec) { return KeyOf(spec.grant); }
inline CallKey KeyOf(const storage::RaiseSpec& spec) { return KeyOf(spec.grant); }
inline CallKey KeyOf(const storage::ReleaseSpec& spec) {
  CallKey key = KeyOf(spec.grant);
  if (spec.last_timestamp) key.last_timestamp_ms = spec.last_timestamp->ms;
  key.abandon = spec.abandon;
  return key;
}
inline CallKey KeyOf(const storage::ClaimSpec& spec) {
  return {.name_space = spec.name_space,
          .instance_id = spec.instance_id,
          .incarnation_id = spec.incarnation_id};
}

template <typename SpecT, typename ResultT>
struct PendingCallOf final : PendingCall {
  using Spec = SpecT;
  using Result = ResultT;
  using Done = std::function<void(Result)>;

  PendingCallOf(CallKind k, SteadyTime d, Spec s, Done f)
      : PendingCall(k, d), spec(std::move(s)), done(std::move(f)) {}

  CallKey Key() const override { return KeyOf(spec); }
  void Fail(absl::Status status) override { done(std::move(status)); }

  Spec spec;
  Done done;
};

using PendingClaim = PendingCallOf<storage::ClaimSpec, absl::StatusOr<storage::Lease>>;
using PendingRenew = PendingCallOf<storage::RenewSpec, absl::StatusOr<storage::Lease>>;
using PendingRelease = PendingCallOf<storage::ReleaseSpec, absl::Status>;
using PendingRaise = PendingCallOf<storage::RaiseSpec, absl::StatusOr<storage::WatermarkReading>>;

}  // namespace snowlease::service
