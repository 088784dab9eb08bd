#include "service/server/fence_command.h"

#include <iostream>

#include "absl/time/time.h"
#include "service/config/values.h"
#include "service/server/command_failure.h"
#include "storage/fence.h"
#include "storage/store_factory.h"

namespace snowlease::service {
namespace {

constexpr char kFlag[] = "--ahead";

std::string Counted(uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string Utc(storage::ClientTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(time.ms),
                          absl::UTCTimeZone());
}

// The value of every --ahead; an empty one where nothing follows.
std::vector<std::string> TakeValues(std::vector<std::string>& arguments) {
  std::vector<std::string> values;
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.starts_with(std::string(kFlag) + "=")) {
      values.push_back(argument.substr(sizeof(kFlag)));
    } else if (argument == kFlag) {
      const bool more = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
      values.push_back(more ? arguments[++i] : "");
    } else {
      rest.push_back(argument);
    }
  }
  arguments = std::move(rest);
  return values;
}

}  // namespace

std::optional<storage::Millis> TakeAhead(std::vector<std::string>& arguments,
                                         std::vector<std::string>& problems) {
  const std::vector<std::string> values = TakeValues(arguments);
  const auto refuse = [&](const std::string& what) {
    problems.push_back(std::string(kFlag) + ": " + what);
    return std::nullopt;
  };
  if (values.empty() || values[0].empty()) {
    return refuse(
        "fence needs --ahead=DURATION: at least the largest safe guard duration plus "
        "lease.max-clock-ahead, for example 10m");
  }
  if (values.size() > 1) return refuse("is given twice; leave one out");
  std::string fix;
  const std::optional<storage::Millis> ahead = ParseDuration(values[0], &fix);
  if (!ahead) return refuse("\"" + values[0] + "\" is no duration; " + fix);
  if (*ahead <= storage::Millis(0) || *ahead > storage::kLongestFence) {
    return refuse("\"" + values[0] + "\" must be above 0 and at most 720h (30 days)");
  }
  return ahead;
}

int FenceStore(const Config& config, storage::Millis ahead) {
  auto store = storage::OpenStore(config.StoreUrl(), config.StoreOptions(), storage::Clock::Real());
  if (!store.ok()) return Fail("cannot open the store", store.status());
  if ((*store)->GetCapabilities().backend == "memory") {
    return Fail("cannot fence the store",
                absl::FailedPreconditionError("memory: keeps nothing that could be fenced; name "
                                              "the restored store with --store-url"));
  }
  // Never makes a schema: a store without one is not what was restored.
  const absl::Status fits = (*store)->Migrate(storage::MigrateMode::kCheck);
  if (!fits.ok()) return Fail("cannot fence the store", fits);
  const auto done =
      (*store)->Fence(ahead, {"fence", "snowlease-server fence --ahead=" + FormatDuration(ahead)});
  if (!done.ok()) return Fail("cannot fence the store", done.status());
  std::cout << storage::RedactedUrl(config.store.url)
            << " is fenced: " << Counted(done->namespaces, "namespace") << ", "
            << Counted(done->leases, "lease") << ", " << done->ended
            << " of them were held and have ended\n"
            << "nothing is granted up to " << Utc(done->floor) << " (" << done->floor.ms << ")\n";
  return 0;
}

}  // namespace snowlease::service
