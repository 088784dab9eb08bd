#include "service/server/commands.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "service/log/grpc_log.h"
#include "service/log/log.h"
#include "service/server/command_failure.h"
#include "service/server/drain_watchdog.h"
#include "service/server/environment.h"
#include "service/server/health_probe.h"
#include "service/server/server.h"
#include "service/server/signals.h"
#include "service/server/version.h"
#include "storage/store_factory.h"

namespace snowlease::service {
namespace {

constexpr storage::Millis kProbeTimeout{3000};
// For calls that are cancelled at the end of drain.timeout to be counted out.
constexpr storage::Millis kDrainGrace{1000};

void WarnOfOpenPort(const char* setting, const ListenAddress& address,
                    const Config::Grpc::Tls& tls) {
  if (address.IsLoopback() || !tls.client_ca_file.empty()) return;
  Log(LogLevel::kWarn,
      std::string("anybody who reaches this address can claim and release machine ids: there is ") +
          (tls.enabled() ? "no authentication; let in by certificate with grpc.tls.client-ca-file, "
                           "or keep it inside a trusted network"
                         : "neither TLS nor authentication; keep it inside a trusted network"),
      {{"setting", setting}, {"address", address.ToString()}});
}

void Announce(Environment& environment, const Server& server) {
  const Config& config = environment.config();
  const std::optional<ListenAddress> http = server.http_address();
  Log(LogLevel::kInfo, "serving",
      {{"version", kVersion},
       {"grpc", server.grpc_address().ToString()},
       {"tls", config.grpc.tls.enabled() ? "on" : "off"},
       {"http", http ? http->ToString() : "off"},
       {"store", storage::RedactedUrl(config.store.url)},
       {"schema", std::to_string(environment.store()->SchemaVersion())},
       {"store_id", environment.store()->StoreId()},
       {"admin", config.admin.enabled ? "on" : "off"}});
  if (!environment.store()->GetCapabilities().durable) {
    Log(LogLevel::kWarn,
        "this store forgets all leases when the server stops, and ids may then repeat; for more "
        "than trials use store.url=sqlite:PATH");
  }
  WarnOfOpenPort("grpc.listen", server.grpc_address(), config.grpc.tls);
  if (http) WarnOfOpenPort("http.listen", *http, {});
}

// Threads that hang in the store cannot be ended, so the process is; whatever was
// acknowledged is stored.
void LeaveAtOnce() {
  Log(LogLevel::kError,
      "the store did not answer within drain.timeout: calls under way are left without an answer");
  std::_Exit(1);
}

}  // namespace

int Serve(const LoadedConfig& loaded) {
  StopSignals signals;  // before anything starts a thread
  RedirectGrpcLog();
  for (const std::string& warning : loaded.warnings) Log(LogLevel::kWarn, warning);
  storage::Clock* const clock = storage::Clock::Real();
  auto environment = Environment::Open(loaded.config, clock);
  if (!environment.ok()) return Fail("cannot open the store", environment.status());
  auto server = Server::Start(environment->get());
  if (!server.ok()) return Fail("cannot start", server.status());
  Announce(**environment, **server);

  const char* const signal = signals.Wait();
  Log(LogLevel::kInfo, "draining", {{"signal", signal}});
  const Config::Drain& drain = loaded.config.drain;
  const DrainWatchdog watchdog(
      clock, clock->SteadyNow() + drain.delay + drain.timeout + kDrainGrace, LeaveAtOnce);
  (*server)->Drain();
  server->reset();
  environment->reset();
  Log(LogLevel::kInfo, "stopped");
  return 0;
}

int MigrateStore(const Config& config) {
  auto store = storage::OpenStore(config.StoreUrl(), config.StoreOptions(), storage::Clock::Real());
  if (!store.ok()) return Fail("cannot open the store", store.status());
  const absl::Status migrated = (*store)->Migrate(storage::MigrateMode::kAuto);
  if (!migrated.ok()) return Fail("cannot migrate the store", migrated);
  std::cout << storage::RedactedUrl(config.store.url) << " has schema version "
            << (*store)->SchemaVersion() << "\n";
  return 0;
}

int CheckHealth(const Config& config) {
  RedirectGrpcLog();
  std::string fix;
  const auto address = ParseListenAddress(config.grpc.listen, &fix);
  const absl::Status health =
      ProbeHealth(address.value_or(ListenAddress{}), kProbeTimeout, config.grpc.tls);
  if (health.ok()) {
    std::cout << "serving\n";
    return 0;
  }
  std::cerr << "snowlease-server healthcheck: " << health.message() << "\n";
  return 1;
}

}  // namespace snowlease::service
