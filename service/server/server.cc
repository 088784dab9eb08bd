#include "service/server/server.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "service/log/log.h"
#include "service/rpc/tls_credentials.h"
#include "service/server/version.h"

namespace snowlease::service {
namespace {

using storage::SteadyTime;

Readiness::Options ReadinessOptions(const Config& config) {
  Readiness::Options options;
  options.max_clock_ahead = config.lease.max_clock_ahead;
  return options;
}

ListenAddress AddressOf(const std::string& text) {
  std::string fix;
  return ParseListenAddress(text, &fix).value_or(ListenAddress{});
}

GuardOptions HttpGuard(const Config& config) {
  GuardOptions options;
  options.loopback = AddressOf(config.http.listen).IsLoopback();
  options.allowed_hosts = config.http.allowed_hosts;
  return options;
}

GrpcServerOptions GrpcOptions(const Config& config, ServerMetrics* metrics) {
  GrpcServerOptions options;
  options.version = kVersion;
  options.metrics = &metrics->grpc();
  options.listen = config.grpc.listen;
  options.min_client_ping_interval = config.grpc.min_ping_interval;
  options.keepalive_time = config.grpc.keepalive_time;
  options.keepalive_timeout = config.grpc.keepalive_timeout;
  options.max_connection_age = config.grpc.max_connection_age;
  options.max_connection_age_grace = config.grpc.max_connection_age_grace;
  options.reflection = config.grpc.reflection;
  options.channelz = config.grpc.channelz;
  return options;
}

HttpServerOptions HttpOptions(const Config& config) {
  HttpServerOptions options;
  options.listen = AddressOf(config.http.listen);
  options.threads = static_cast<int>(config.http.threads);
  options.request_timeout = config.http.request_timeout;
  return options;
}

// A quarter of the threads is left for health and metrics.
int HttpCallsAtATime(const Config& config) {
  const auto threads = static_cast<int>(config.http.threads);
  return threads - std::max(1, threads / 4);
}

void WaitFor(storage::Clock* clock, storage::Millis duration) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const SteadyTime until = clock->SteadyNow() + duration;
  while (clock->SteadyNow() < until) clock->WaitUntil(never, lock, until);
}

}  // namespace

Server::Server(Environment* environment)
    : environment_(environment),
      readiness_(ReadinessOptions(environment->config())),
      gateway_(environment->machine_ids(), environment->admin(), environment->clock(),
               environment->config().http.request_timeout, HttpCallsAtATime(environment->config())),
      http_api_(HttpGuard(environment->config()), &readiness_, environment->metrics(), &gateway_),
      census_(environment->store(), environment->metrics()) {}

Server::~Server() {
  Stop(environment_->clock()->SteadyNow());
  environment_->metrics()->SetCertificateExpiry({});
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Environment* environment) {
  std::unique_ptr<Server> server(new Server(environment));
  const absl::Status started = server->StartPorts();
  if (!started.ok()) return started;
  server->StartMonitor();
  return server;
}

absl::Status Server::OpenCertificates() {
  const Config& config = environment_->config();
  if (!config.grpc.tls.enabled()) return absl::OkStatus();
  auto files = CertificateFiles::Open(config.grpc.tls, environment_->clock());
  if (!files.ok()) return files.status();
  certificates_ = *std::move(files);
  // Read when somebody looks: a server without new connections must not seem to have
  // an old certificate.
  environment_->metrics()->SetCertificateExpiry(
      [this] { return static_cast<double>(certificates_->Refresh()->expires.ms) / 1000; });
  return absl::OkStatus();
}

absl::Status Server::StartPorts() {
  const Config& config = environment_->config();
  if (absl::Status opened = OpenCertificates(); !opened.ok()) return opened;
  GrpcServerOptions options = GrpcOptions(config, environment_->metrics());
  if (certificates_) options.credentials = ReloadingTlsCredentials(certificates_.get());
  auto grpc = GrpcServer::Start(options, environment_->machine_ids(), environment_->admin(),
                                environment_->executor(), environment_->clock());
  if (!grpc.ok()) return grpc.status();
  grpc_ = *std::move(grpc);
  grpc_address_ = AddressOf(config.grpc.listen);
  grpc_address_.port = grpc_->port();
  if (!config.http.enabled) return absl::OkStatus();
  auto http = HttpServer::Start(HttpOptions(config), &http_api_, environment_->clock());
  if (!http.ok()) return http.status();
  http_ = *std::move(http);
  return absl::OkStatus();
}

void Server::StartMonitor() {
  StoreMonitor::Listener listener;
  listener.seen = [this](const StoreObservation& seen) { OnLook(seen); };
  listener.log = [](const ReadinessEvent& event) {
    Log(event.level, event.message, {{"detail", event.detail}});
  };
  listener.answered = [this] { census_.Refresh(environment_->clock()->SteadyNow()); };
  monitor_ = std::make_unique<StoreMonitor>(environment_->store(), environment_->clock(),
                                            &readiness_, MonitorOptions(), std::move(listener));
}

StoreMonitor::Options Server::MonitorOptions() const {
  StoreMonitor::Options options;
  options.patience = environment_->config().store.timeout;
  return options;
}

void Server::OnLook(const StoreObservation& seen) {
  StoreMetrics& metrics = environment_->metrics()->store();
  grpc_->SetServing(readiness_.ready());
  metrics.SetUp(seen.status.ok());
  if (!seen.status.ok()) return;
  metrics.SetClock(seen.clock_ahead, readiness_.takeovers_paused());
  metrics.SetSchemaVersion(seen.schema_version);
}

std::optional<ListenAddress> Server::http_address() const {
  if (http_ == nullptr) return std::nullopt;
  return http_->address();
}

void Server::Drain() {
  if (drained_) return;
  const Config::Drain& drain = environment_->config().drain;
  readiness_.SetDraining();
  grpc_->SetServing(false);
  WaitFor(environment_->clock(), drain.delay);
  Stop(environment_->clock()->SteadyNow() + drain.timeout);
}

void Server::Stop(SteadyTime deadline) {
  if (drained_) return;
  drained_ = true;
  readiness_.SetDraining();
  // Calls in flight need the committer, so it goes last; HTTP outlives gRPC so that
  // readiness and metrics can be seen while calls finish.
  if (grpc_ != nullptr) grpc_->Shutdown(deadline);
  if (http_ != nullptr) http_->Shutdown();
  environment_->committer()->Drain();
  monitor_.reset();
}

}  // namespace snowlease::service
