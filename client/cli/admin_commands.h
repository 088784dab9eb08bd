#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/console.h"

// What operators do and see; the server answers where admin is enabled.

namespace snowlease::cli {

// 0 = all.
int RunListNamespaces(Console& console, const GlobalOptions& global, uint64_t limit);
int RunGetNamespace(Console& console, const GlobalOptions& global, const std::string& name);

struct SetNamespaceOptions {
  std::string name;
  std::optional<uint32_t> bits;
  std::string pin_safe_guard;  // duration or none
  std::optional<bool> allow_trust_clock;
  std::string lease_cap;  // number or none
  bool create = false;
  std::string reason;
};
int RunSetNamespace(Console& console, const GlobalOptions& global,
                    const SetNamespaceOptions& options);

struct DeleteNamespaceOptions {
  std::string name;
  std::string reason;
  bool yes = false;
};
int RunDeleteNamespace(Console& console, const GlobalOptions& global,
                       const DeleteNamespaceOptions& options);

struct ListLeasesOptions {
  std::string name_space;
  std::string state;  // empty, free, held, kept or reserved
  std::string instance_prefix;
  uint64_t limit = 0;
};
int RunListLeases(Console& console, const GlobalOptions& global, const ListLeasesOptions& options);

int RunGetLease(Console& console, const GlobalOptions& global, const std::string& name_space,
                uint32_t machine_id);

struct ForceReleaseOptions {
  std::string name_space;
  uint32_t machine_id = 0;
  uint64_t token = 0;
  std::string reason;
  std::optional<int64_t> quarantine_ms;
  bool yes = false;
};
int RunForceRelease(Console& console, const GlobalOptions& global,
                    const ForceReleaseOptions& options);

struct ReserveOptions {
  std::string name_space;
  std::vector<std::string> machine_ids;
  std::string reason;
  std::string floor;  // unreserve only
};
int RunReserve(Console& console, const GlobalOptions& global, const ReserveOptions& options);
int RunUnreserve(Console& console, const GlobalOptions& global, const ReserveOptions& options);

}  // namespace snowlease::cli
