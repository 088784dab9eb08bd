#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/bench/bench_command.h"
#include "client/cli/bench/closed_loop.h"
#include "client/cli/console.h"
#include "snowlease/client.h"

namespace snowlease::cli {

// A lease that the benchmark holds; token 0: not claimed.
struct BenchLease {
  std::string instance;
  uint32_t machine_id = 0;
  uint64_t token = 0;
};

// The connections of a benchmark and what it does with many leases at once.
class Fleet {
 public:
  static absl::StatusOr<std::unique_ptr<Fleet>> Connect(Console& console,
                                                        const GlobalOptions& global,
                                                        const BenchOptions& options);

  // Claims each of `leases` that has no token yet; stops at the first error that a
  // retry does not mend, or when the user interrupts.
  absl::Status Claim(std::vector<BenchLease>& leases);
  // Gives back all that have a token, as leases without any id issued.
  absl::Status Release(std::vector<BenchLease>& leases);

  // Names that no other run uses.
  std::vector<BenchLease> NewLeases(size_t count);
  void FillClaim(const BenchLease& lease, v1::ClaimRequest& request);
  void FillRenew(const BenchLease& lease, v1::RenewRequest& request) const;

  const Stubs& stubs() const { return stubs_; }
  const BenchOptions& options() const { return options_; }
  client::Clock* clock() const { return clock_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  // One line that is overwritten, on a terminal only.
  void ShowProgress(const std::string& text);
  void EndProgress();
  // SIGINT or SIGTERM has come: measure no more, give back, end.
  static bool Interrupted();

 private:
  Fleet(Console& console, const GlobalOptions& global, const BenchOptions& options);

  // Calls for each of `work` until all have succeeded. Giving back goes on after an
  // interrupt, and a lease that is lost is given back.
  template <typename Request, typename Response>
  absl::Status ForEach(const std::string& what, std::vector<BenchLease*> work, bool giving_back,
                       const typename ClosedLoop<Request, Response>::Start& start,
                       const std::function<void(const BenchLease&, Request&)>& fill,
                       const std::function<void(BenchLease&, const Response&)>& take);

  Console& console_;
  const BenchOptions options_;
  const std::chrono::milliseconds timeout_;
  client::Clock* const clock_;
  Stubs stubs_;
  std::string run_;                 // random, in every instance id
  std::string incarnation_prefix_;  // random; a counter makes the rest
  std::atomic<uint64_t> counter_{0};
  size_t progress_width_ = 0;
};

}  // namespace snowlease::cli
