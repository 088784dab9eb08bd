#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/console.h"

// Options of a command and the command, which returns the exit code.

namespace snowlease::cli {

// A grant as the command line names it.
struct GrantOptions {
  std::string name_space;
  uint32_t machine_id = 0;
  std::string instance;
  uint64_t token = 0;
};

struct ClaimOptions {
  std::string name_space;
  std::string instance;  // empty: host:pid:random
  uint32_t bits = 10;
  bool stable = false;
  std::optional<int64_t> safe_guard_ms;
  std::optional<int64_t> window_ms;
  int64_t max_wait_ms = 500;
  std::string comeback;  // empty, move, keep or trust-clock
  std::vector<std::string> metadata;
};
int RunClaim(Console& console, const GlobalOptions& global, const ClaimOptions& options);

struct RenewOptions {
  GrantOptions grant;
  std::string last_timestamp;  // empty: none
};
int RunRenew(Console& console, const GlobalOptions& global, const RenewOptions& options);

struct ReleaseOptions {
  GrantOptions grant;
  std::string last_timestamp;  // empty: unknown
  bool abandon = false;
};
int RunRelease(Console& console, const GlobalOptions& global, const ReleaseOptions& options);

struct WatermarkOptions {
  GrantOptions grant;  // instance and token to raise only
  std::string raise_to;
};
int RunWatermark(Console& console, const GlobalOptions& global, const WatermarkOptions& options);

}  // namespace snowlease::cli
