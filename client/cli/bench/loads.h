#pragma once

#include <vector>

#include "client/cli/bench/fleet.h"
#include "client/cli/bench/tally.h"

// The loads that `bench` puts on a server. Each runs for the warm-up and the
// duration of the options, or until the user interrupts.

namespace snowlease::cli {

void RenewLoad(Fleet& fleet, const std::vector<BenchLease>& leases, Tally& tally);

// Over one stream for each of `clients`.
void KeepAliveLoad(Fleet& fleet, const std::vector<std::unique_ptr<client::Client>>& clients,
                   const std::vector<BenchLease>& leases, Tally& tally);

// Claims all of its leases, then releases them, in turns; only claiming is measured.
// An error of the releases ends it.
absl::Status ClaimLoad(Fleet& fleet, Tally& tally);

}  // namespace snowlease::cli
