#include "snowlease/client.h"

#include <functional>
#include <future>
#include <mutex>
#include <random>

#include <grpcpp/generic/generic_stub.h>

#include "absl/strings/str_cat.h"
#include "client/cpp/src/endpoint_pool.h"
#include "client/cpp/src/health.h"
#include "client/cpp/src/keep_alive_stream.h"
#include "snowlease/grpc.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;

absl::Status CheckOptions(const ClientOptions& options) {
  const auto problem = [](const char* text) { return absl::InvalidArgumentError(text); };
  if (options.timeout <= milliseconds(0)) return problem("timeout is longer than 0");
  if (options.attempt_timeout <= milliseconds(0))
    return problem("attempt_timeout is longer than 0");
  if (options.retry.max_attempts < 1) return problem("retry.max_attempts is 1 or more");
  if (options.retry.initial_backoff < milliseconds(1)) {
    return problem("retry.initial_backoff is 1 ms or more");
  }
  if (options.retry.max_backoff < options.retry.initial_backoff) {
    return problem("retry.max_backoff is not below retry.initial_backoff");
  }
  if (options.keepalive_time < milliseconds(1000)) return problem("keepalive_time is 1 s or more");
  return absl::OkStatus();
}

// Starts a call and waits for its answer. The threads of the callback API also see to the
// connections while no call is under way; with the synchronous one a server that is back
// would be found only by gRPC's own look around every 5 s.
template <typename Start>
grpc::Status Await(Start start) {
  // Shared: set_value may still be running when get has returned.
  auto answered = std::make_shared<std::promise<grpc::Status>>();
  auto answer = answered->get_future();
  start([answered](const grpc::Status& status) { answered->set_value(status); });
  return answer.get();
}

// gRPC's server drops calls that reach it after its shutdown has begun and before the
// client has heard of it; they were not served, and nobody here cancelled them.
bool IsDropped(const grpc::Status& answer, const std::stop_token& stop) {
  return answer.error_code() == grpc::StatusCode::CANCELLED && answer.error_details().empty() &&
         !stop.stop_requested();
}

}  // namespace

struct Client::Impl {
  using Attempt = std::function<grpc::Status(Endpoint&, grpc::ClientContext*)>;

  ClientOptions options;
  Clock* clock;
  std::shared_ptr<EndpointPool> endpoints;
  std::mutex mutex;
  std::mt19937_64 random{std::random_device{}()};  // guarded by mutex
  std::string server_version;                      // guarded by mutex

  double Random() {
    std::lock_guard lock(mutex);
    return std::uniform_real_distribution<double>(0, 1)(random);
  }

  void NoteVersion(const grpc::ClientContext& context) {
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto version = trailers.find("snowlease-version");
    if (version == trailers.end()) return;
    std::lock_guard lock(mutex);
    server_version.assign(version->second.data(), version->second.size());
  }

  absl::Status Call(const CallOptions& call, const Attempt& attempt);

  template <typename Response, typename Method>
  absl::StatusOr<Response> Answer(const CallOptions& call, Method method) {
    Response response;
    const absl::Status status = Call(call, [&](Endpoint& endpoint, grpc::ClientContext* context) {
      return method(endpoint, context, &response);
    });
    if (!status.ok()) return status;
    return response;
  }
};

absl::Status Client::Impl::Call(const CallOptions& call, const Attempt& attempt) {
  const auto deadline = clock->SteadyNow() + call.timeout.value_or(options.timeout);
  const auto remaining = [&] {
    return std::chrono::duration_cast<milliseconds>(deadline - clock->SteadyNow());
  };
  for (int number = 1;; ++number) {
    if (call.stop.stop_requested()) return absl::CancelledError("the call was stopped");
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(std::min(remaining(), options.attempt_timeout)));
    grpc::Status answer;
    {
      std::stop_callback cancel(call.stop, [&context] { context.TryCancel(); });
      answer = attempt(endpoints->Next(), &context);
    }
    NoteVersion(context);
    if (answer.ok()) return absl::OkStatus();
    if (IsDropped(answer, call.stop)) {
      answer = {grpc::StatusCode::UNAVAILABLE, "the server dropped the call while it stopped"};
    }
    absl::Status status = FromGrpcStatus(answer, context);
    const auto wait = NextAttemptAfter(options.retry, {.number = number,
                                                       .code = status.code(),
                                                       .reason = ReasonOf(status),
                                                       .pushback = PushbackOf(context),
                                                       .retry_delay = RetryDelayOf(status),
                                                       .remaining = remaining(),
                                                       .random = Random()});
    if (!wait) return status;
    if (!clock->Wait(*wait, call.stop)) return absl::CancelledError("the call was stopped");
  }
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientOptions options) {
  const absl::Status checked = CheckOptions(options);
  if (!checked.ok()) return checked;
  auto endpoints = EndpointPool::Create(options);
  if (!endpoints.ok()) return endpoints.status();
  auto impl = std::make_unique<Impl>();
  impl->clock = options.clock ? options.clock : Clock::Real();
  impl->options = std::move(options);
  impl->endpoints = *std::move(endpoints);
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

std::string Client::server_version() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->server_version;
}

std::unique_ptr<KeepAliveStream> Client::OpenKeepAlive(const KeepAliveOptions& options) {
  return NewKeepAliveStream(options, impl_->options.retry, impl_->endpoints, impl_->clock);
}

absl::Status Client::CheckHealth(const std::string& service, const CallOptions& options) {
  const grpc::ByteBuffer request = HealthRequest(service);
  grpc::ByteBuffer response;
  const absl::Status status =
      impl_->Call(options, [&](Endpoint& endpoint, grpc::ClientContext* context) {
        return Await([&](auto done) {
          grpc::GenericStub(endpoint.channel)
              .UnaryCall(context, kHealthMethod, {}, &request, &response, std::move(done));
        });
      });
  if (!status.ok()) return status;
  return HealthAnswer(response);
}

// One body for all: an endpoint's stub, the method of the same name.
#define SNOWLEASE_CALL(service, method)                                                         \
  absl::StatusOr<v1::method##Response> Client::method(const v1::method##Request& request,       \
                                                      const CallOptions& options) {             \
    return impl_->Answer<v1::method##Response>(                                                 \
        options,                                                                                \
        [&](Endpoint& endpoint, grpc::ClientContext* context, v1::method##Response* response) { \
          return Await([&](auto done) {                                                         \
            endpoint.service->async()->method(context, &request, response, std::move(done));    \
          });                                                                                   \
        });                                                                                     \
  }

SNOWLEASE_CALL(machine_ids, Claim)
SNOWLEASE_CALL(machine_ids, Renew)
SNOWLEASE_CALL(machine_ids, Release)
SNOWLEASE_CALL(machine_ids, Watermark)
SNOWLEASE_CALL(admin, ListNamespaces)
SNOWLEASE_CALL(admin, GetNamespace)
SNOWLEASE_CALL(admin, UpdateNamespace)
SNOWLEASE_CALL(admin, DeleteNamespace)
SNOWLEASE_CALL(admin, ListLeases)
SNOWLEASE_CALL(admin, GetLease)
SNOWLEASE_CALL(admin, ForceRelease)
SNOWLEASE_CALL(admin, ReserveIds)
SNOWLEASE_CALL(admin, UnreserveIds)
SNOWLEASE_CALL(admin, FindOwner)
#undef SNOWLEASE_CALL

}  // namespace snowlease::client
