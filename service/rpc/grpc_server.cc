#include "service/rpc/grpc_server.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/time.h"
#include "grpcpp/ext/channelz_service_plugin.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "service/rpc/admin_service.h"
#include "service/rpc/grpc_listen_error.h"
#include "service/rpc/machine_id_service.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using storage::Millis;

// Threads for the services that gRPC has in its synchronous API only (reflection,
// channelz); ours need none.
constexpr int kMaxThreads = 16;

// gRPC's plugins are on for every server of the process once they are known to it;
// this takes those away that this server is not to have.
class WithoutPlugin final : public grpc::ServerBuilderOption {
 public:
  explicit WithoutPlugin(std::string name) : name_(std::move(name)) {}
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [this](const auto& plugin) { return plugin->name() == name_; });
  }

 private:
  const std::string name_;
};

int ToInt(Millis duration) {
  return static_cast<int>(
      std::clamp<int64_t>(duration.count(), 1, std::numeric_limits<int>::max()));
}

void SetConnectionArguments(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  const auto set = [&builder](const char* name, int value) {
    builder.AddChannelArgument(name, value);
  };
  // Without this a second server would share the port in silence.
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      ToInt(options.min_client_ping_interval));
  set(GRPC_ARG_HTTP2_MAX_PING_STRIKES, options.max_ping_strikes);
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, ToInt(options.keepalive_time));
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ToInt(options.keepalive_timeout));
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToInt(options.max_connection_age));
  set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, ToInt(options.max_connection_age_grace));
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  set(GRPC_ARG_ENABLE_CHANNELZ, options.channelz ? 1 : 0);
}

// Streams end by themselves before the grace of their connection does, however old it
// was when they began.
Millis MaxStreamAge(const GrpcServerOptions& options) {
  return std::min(options.max_connection_age, options.max_connection_age_grace) * 4 / 5;
}

}  // namespace

struct GrpcServer::Impl {
  Impl(const GrpcServerOptions& options, MachineIdHandler* machine_id_handler,
       AdminHandler* admin_handler, BlockingExecutor* executor, storage::Clock* the_clock)
      : clock(the_clock),
        machine_ids(machine_id_handler, the_clock, options.default_deadline,
                    {options.max_unanswered_renewals, MaxStreamAge(options)}, options.metrics),
        admin(admin_handler, executor, the_clock, options.default_deadline, options.metrics,
              options.version) {}

  absl::Status Start(const GrpcServerOptions& options);
  void SetHealth(bool healthy);

  storage::Clock* const clock;
  GrpcMachineIdService machine_ids;
  GrpcAdminService admin;
  int port = 0;
  std::mutex mutex;
  bool stopping = false;
  std::unique_ptr<grpc::Server> server;  // last: ends before the services do
};

absl::Status GrpcServer::Impl::Start(const GrpcServerOptions& options) {
  // Protobuf writes a line to stderr for every text that is not UTF-8; the caller is
  // told, and a hostile one must not fill the log.
  google::protobuf::SetLogHandler(nullptr);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  if (options.channelz) grpc::channelz::experimental::InitChannelzService();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(
      options.listen, options.credentials ? options.credentials : grpc::InsecureServerCredentials(),
      &port);
  builder.RegisterService(&machine_ids);
  builder.RegisterService(&admin);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  SetConnectionArguments(options, builder);
  grpc::ResourceQuota quota("snowlease");
  quota.Resize(options.memory_quota_bytes);
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  const auto leave_out = [&builder](const std::string& plugin) {
    builder.SetOption(std::make_unique<WithoutPlugin>(plugin));
  };
  if (!options.reflection) leave_out(grpc::reflection::ProtoServerReflectionPlugin().name());
  if (!options.channelz) leave_out("channelz_service");
  server = builder.BuildAndStart();
  if (server == nullptr) {
    return storage::InvalidArgumentError({{"grpc.listen", "cannot listen on " + options.listen +
                                                              ": " + WhyNotBound(options.listen)}});
  }
  SetHealth(false);
  return absl::OkStatus();
}

void GrpcServer::Impl::SetHealth(bool healthy) {
  grpc::HealthCheckServiceInterface* health = server->GetHealthCheckService();
  for (const char* name :
       {"", v1::MachineIdService::service_full_name(), v1::AdminService::service_full_name()}) {
    health->SetServingStatus(name, healthy);
  }
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              MachineIdHandler* machine_ids,
                                                              AdminHandler* admin,
                                                              BlockingExecutor* executor,
                                                              storage::Clock* clock) {
  auto impl = std::make_unique<Impl>(options, machine_ids, admin, executor, clock);
  if (absl::Status status = impl->Start(options); !status.ok()) return status;
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrpcServer::~GrpcServer() { Shutdown(impl_->clock->SteadyNow()); }

int GrpcServer::port() const { return impl_->port; }

void GrpcServer::SetServing(bool serving) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->stopping) impl_->SetHealth(serving);
}

void GrpcServer::Shutdown(storage::SteadyTime deadline) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (std::exchange(impl_->stopping, true)) return;
    impl_->SetHealth(false);
  }
  impl_->machine_ids.DrainStreams();
  const auto left =
      std::max(deadline - impl_->clock->SteadyNow(), storage::SteadyTime::duration(0));
  const auto ms = std::chrono::duration_cast<Millis>(left).count();
  impl_->server->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN)));
}

}  // namespace snowlease::service
