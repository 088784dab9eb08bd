#include "client/cpp/src/endpoint_pool.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/src/digits.h"
#include "client/cpp/src/tls.h"
#include "snowlease/grpc.h"

namespace snowlease::client {
namespace {

grpc::ChannelArguments Arguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetLoadBalancingPolicyName("round_robin");
  // Retries are decided by reason, which gRPC cannot see.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(options.keepalive_time.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // gRPC would wait up to two minutes before it looks for a server that is back.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  // Else clients of one process with equal arguments share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (options.tls && !options.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls->server_name);
  }
  if (!options.user_agent.empty()) arguments.SetUserAgentPrefix(options.user_agent);
  return arguments;
}

absl::Status CheckEndpoint(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  const std::string host = colon == endpoint.npos ? endpoint : endpoint.substr(0, colon);
  const auto port =
      colon == endpoint.npos ? std::nullopt : ParseDecimal(endpoint.substr(colon + 1));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const bool plain = !host.empty() && host.find_first_of(":/[] \t") == host.npos;
  if ((bracketed || plain) && port && *port >= 1 && *port <= 65535) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", endpoint, "' is no server address: write host:port or [IPv6]:port"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> NewChannel(const std::string& endpoint,
                                                          const ClientOptions& options) {
  const absl::Status checked = CheckEndpoint(endpoint);
  if (!checked.ok()) return checked;
  const auto credentials = CredentialsOf(options);
  if (!credentials.ok()) return credentials.status();
  return grpc::CreateCustomChannel("dns:///" + endpoint, *credentials, Arguments(options));
}

absl::StatusOr<std::shared_ptr<EndpointPool>> EndpointPool::Create(const ClientOptions& options) {
  if (options.endpoints.empty()) return absl::InvalidArgumentError("endpoints is empty");
  std::shared_ptr<EndpointPool> pool(new EndpointPool);
  for (const std::string& address : options.endpoints) {
    auto channel = NewChannel(address, options);
    if (!channel.ok()) return channel.status();
    Endpoint endpoint;
    endpoint.channel = *std::move(channel);
    endpoint.machine_ids = v1::MachineIdService::NewStub(endpoint.channel);
    endpoint.admin = v1::AdminService::NewStub(endpoint.channel);
    pool->endpoints_.push_back(std::move(endpoint));
  }
  return pool;
}

Endpoint& EndpointPool::Next() {
  const size_t count = endpoints_.size();
  const size_t first = turn_.fetch_add(1, std::memory_order_relaxed);
  if (count == 1) return endpoints_[0];
  for (size_t i = 0; i < count; ++i) {
    Endpoint& endpoint = endpoints_[(first + i) % count];
    // Asking an idle channel for its state does not connect it, a call does.
    if (endpoint.channel->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return endpoint;
  }
  return endpoints_[first % count];
}

}  // namespace snowlease::client
