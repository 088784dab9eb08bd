#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "snowlease/v1/machine_id.pb.h"

namespace snowlease::client {

struct KeepAliveOptions {
  // A renewal without an answer for so long fails with DEADLINE_EXCEEDED.
  std::chrono::milliseconds timeout{10000};
  // Most renewals in one message, 1..1024.
  int max_renewals_per_message = 256;
};

// Renews many leases over one stream. Renewals that wait while a message is being
// written travel together in the next one. When the stream ends (drain, connection
// age, failure) a new one is opened, with backoff, and what was not answered is
// sent again. A renewal's own error, also a retryable one, is its answer.
// Thread-safe.
class KeepAliveStream {
 public:
  // Called exactly once, on a thread of gRPC or (after Close) of the caller; must
  // not block and must not destroy the stream.
  using Done = std::function<void(absl::StatusOr<v1::Lease>)>;
  struct Renewal {
    v1::RenewRequest request;
    Done done;
  };

  // Closes.
  virtual ~KeepAliveStream() = default;

  virtual void Renew(v1::RenewRequest request, Done done) = 0;
  // The same for several at once: they share messages.
  virtual void Renew(std::vector<Renewal> renewals) = 0;

  // Ends the stream; what is not answered fails with CANCELLED. No callback runs
  // after it has returned. Not from a callback. Idempotent.
  virtual void Close() = 0;
};

}  // namespace snowlease::client
