#pragma once

#include <string>

#include "client/cli/console.h"

namespace snowlease::cli {

enum class BenchLoad { kRenew, kKeepAlive, kClaim };

struct BenchOptions {
  BenchLoad load = BenchLoad::kRenew;
  std::string name_space = "bench";
  uint32_t bits = 20;
  // Calls, or renewals on streams, that wait for an answer at any time.
  uint64_t outstanding = 512;
  // Connections; as many streams.
  uint64_t channels = 4;
  // Held while measuring; of `claim`: claimed, then released, again and again.
  uint64_t leases = 10000;
  int64_t duration_ms = 10000;
  int64_t warmup_ms = 1000;
  // Renewals in one message of a stream.
  uint64_t renewals_per_message = 16;
};

// Claims what it needs, measures, releases; 0 when any call succeeded.
int RunBench(Console& console, const GlobalOptions& global, const BenchOptions& options);

}  // namespace snowlease::cli
