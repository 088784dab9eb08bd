#include "client/cli/bench/bench_command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/bench/loads.h"
#include "client/cli/connection.h"
#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"
#include "client/cli/output.h"

namespace snowlease::cli {
namespace {

std::string NameOf(BenchLoad load) {
  switch (load) {
    case BenchLoad::kRenew:
      return "renew";
    case BenchLoad::kKeepAlive:
      return "keepalive";
    case BenchLoad::kClaim:
      return "claim";
  }
  return {};
}

double Us(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

void PrintResult(Console& console, const GlobalOptions& global, const BenchOptions& options,
                 const Tally& tally) {
  const auto operations = static_cast<double>(tally.succeeded());
  const double per_second = tally.seconds() > 0 ? operations / tally.seconds() : 0;
  const double cpu_us = operations > 0 ? tally.cpu_us() / operations : 0;
  const double p50 = Us(tally.latency().Quantile(0.5));
  const double p99 = Us(tally.latency().Quantile(0.99));
  const double max = Us(tally.latency().max());
  JsonObject errors;
  uint64_t failed = 0;
  for (const auto& [reason, count] : tally.errors()) {
    errors.Number(reason, static_cast<double>(count));
    failed += count;
  }
  JsonObject json;
  json.Text("load", NameOf(options.load))
      .Number("outstanding", static_cast<double>(options.outstanding))
      .Number("channels", static_cast<double>(options.channels))
      .Number("leases", static_cast<double>(options.leases));
  if (options.load == BenchLoad::kKeepAlive) {
    json.Number("renewals_per_message", static_cast<double>(options.renewals_per_message));
  }
  json.Number("seconds", tally.seconds())
      .Number("operations", operations)
      .Number("per_second", per_second)
      .Number("p50_us", p50)
      .Number("p99_us", p99)
      .Number("max_us", max)
      .Number("client_cpu_us_per_operation", cpu_us)
      .Raw("errors", errors.Json());
  Table table({"LOAD", "OPERATIONS", "SECONDS", "PER_SECOND", "P50_US", "P99_US", "MAX_US",
               "CLIENT_CPU_US", "ERRORS"});
  table.Add({NameOf(options.load), absl::StrCat(tally.succeeded()),
             absl::StrFormat("%.2f", tally.seconds()), absl::StrFormat("%.0f", per_second),
             absl::StrFormat("%.0f", p50), absl::StrFormat("%.0f", p99),
             absl::StrFormat("%.0f", max), absl::StrFormat("%.1f", cpu_us), absl::StrCat(failed)});
  Print(console, global, json.Json(), table);
  if (global.output == OutputFormat::kTable) {
    for (const auto& [reason, count] : tally.errors()) {
      console.err << count << " calls failed with " << reason << "\n";
    }
  }
}

absl::Status RunKeepAlive(const GlobalOptions& global, Fleet& fleet,
                          const std::vector<BenchLease>& leases, Tally& tally) {
  std::vector<std::unique_ptr<client::Client>> clients;
  for (uint64_t i = 0; i < fleet.options().channels; ++i) {
    auto connection = Connect(global);
    if (!connection.ok()) return connection.status();
    clients.push_back(*std::move(connection));
  }
  KeepAliveLoad(fleet, clients, leases, tally);
  return absl::OkStatus();
}

// Claims the leases that the load needs, and whatever happens then releases them.
absl::Status RunOnLeases(const GlobalOptions& global, Fleet& fleet, Tally& tally) {
  std::vector<BenchLease> leases = fleet.NewLeases(fleet.options().leases);
  absl::Status status = fleet.Claim(leases);
  if (status.ok()) {
    if (fleet.options().load == BenchLoad::kKeepAlive) {
      status = RunKeepAlive(global, fleet, leases, tally);
    } else {
      RenewLoad(fleet, leases, tally);
    }
  }
  const absl::Status released = fleet.Release(leases);
  return status.ok() ? released : status;
}

}  // namespace

int RunBench(Console& console, const GlobalOptions& global, const BenchOptions& options) {
  if (options.bits < 30 && options.leases > uint64_t{1} << options.bits) {
    return FailUsage(console,
                     absl::StrCat("a namespace of ", options.bits, " bits has no room for ",
                                  options.leases, " leases: give --bits or --leases"));
  }
  auto fleet = Fleet::Connect(console, global, options);
  if (!fleet.ok()) return FailUsage(console, std::string(fleet.status().message()));
  Tally tally((*fleet)->clock());
  const absl::Status status = options.load == BenchLoad::kClaim
                                  ? ClaimLoad(**fleet, tally)
                                  : RunOnLeases(global, **fleet, tally);
  if (tally.succeeded() > 0) PrintResult(console, global, options, tally);
  if (!status.ok()) return Fail(console, status, global.server);
  if (tally.succeeded() > 0) return kExitOk;
  if (Fleet::Interrupted())
    return Fail(console, absl::CancelledError("interrupted"), global.server);
  return Fail(console, tally.last_error(), global.server);
}

}  // namespace snowlease::cli
