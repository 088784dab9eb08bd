#include "service/http/http_server.h"

#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "service/http/connection_pool.h"
#include "service/http/connection_stream.h"
#include "service/http/http_status.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using grpc::StatusCode;

HttpRequest ToRequest(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers.emplace(std::move(lower), value);
  }
  request.body = from.body;
  return request;
}

void Write(const HttpResponse& from, httplib::Response& response) {
  response.status = from.status;
  for (const auto& [name, value] : from.headers) response.set_header(name, value);
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_content(from.body, from.content_type);
}

// Set while the accepting thread itself must turn a connection away.
thread_local bool turning_away = false;

// Gives httplib's connections to the pool.
class PoolQueue final : public httplib::TaskQueue {
 public:
  explicit PoolQueue(ConnectionPool* pool) : pool_(pool) {}
  void enqueue(std::function<void()> serve) override {
    if (pool_->TryRun(serve)) return;
    turning_away = true;
    serve();  // closes the socket
    turning_away = false;
  }
  void shutdown() override { pool_->Stop(); }

 private:
  ConnectionPool* const pool_;
};

class Transport final : public httplib::Server {
 public:
  Transport(const HttpServerOptions& options, const HttpApi* api, storage::Clock* clock)
      : options_(options), clock_(clock), pool_(options.threads) {
    new_task_queue = [this] { return new PoolQueue(&pool_); };
    // Without SO_REUSEPORT, which would let a second server take the port silently.
    set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    set_tcp_nodelay(true);
    set_pre_routing_handler([api](const httplib::Request& request, httplib::Response& response) {
      const std::optional<HttpResponse> refusal = api->Refuse(ToRequest(request));
      if (!refusal) return HandlerResponse::Unhandled;
      Write(*refusal, response);
      return HandlerResponse::Handled;
    });
    set_expect_100_continue_handler(
        [api](const httplib::Request& request, httplib::Response& response) {
          const std::optional<HttpResponse> refusal = api->Refuse(ToRequest(request));
          if (!refusal) return 100;
          Write(*refusal, response);
          return refusal->status;
        });
    const auto handle = [api](const httplib::Request& request, httplib::Response& response) {
      Write(api->Handle(ToRequest(request)), response);
    };
    Get(".*", handle);
    Post(".*", handle);
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             std::exception_ptr) {
      Write(ErrorResponse(storage::InternalError("the request failed in the server")), response);
    });
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty()) return;
      Write(HttpFault(response.status, StatusCode::INVALID_ARGUMENT,
                      "the request is malformed, too large, or came too slowly"),
            response);
    });
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    if (turning_away) {
      TurnAway(socket);
    } else {
      Serve(socket);
    }
    ::close(socket);
    return true;
  }

  void Serve(socket_t socket) {
    ConnectionStream::Limits limits;
    limits.receive = options_.request_timeout;
    limits.send = options_.request_timeout;
    limits.give_way = [this] { return pool_.Crowded(); };
    ConnectionStream stream(socket, clock_, std::move(limits));
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, nullptr);
    stream.Finish();
  }

  // Never blocks: it runs on the thread that accepts.
  static void TurnAway(socket_t socket) {
    static const std::string kAnswer =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    (void)::send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const HttpServerOptions options_;
  storage::Clock* const clock_;
  ConnectionPool pool_;
};

absl::Status ListenError(const ListenAddress& address, int error) {
  std::string what = "cannot listen on " + address.ToString() + ": " + std::strerror(error);
  if (error == EADDRINUSE) {
    what += "; another program has the port: stop it, or choose another one";
  } else if (error == EACCES) {
    what += "; ports below 1024 need a privilege: choose a higher one";
  } else {
    what += "; choose an address of this host";
  }
  return storage::InvalidArgumentError({{"http.listen", what}});
}

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpServerOptions& options, const HttpApi* api, storage::Clock* clock)
      : address(options.listen), transport(options, api, clock) {}

  absl::Status Bind() {
    errno = 0;
    if (TryBind()) return absl::OkStatus();
    const int error = errno;
    if (address.host == "::" && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == 0)) {
      address.host = "0.0.0.0";
      if (TryBind()) return absl::OkStatus();
    }
    return ListenError(address, error == 0 ? EADDRNOTAVAIL : error);
  }

  bool TryBind() {
    if (address.port != 0) return transport.bind_to_port(address.host, address.port);
    const int port = transport.bind_to_any_port(address.host);
    if (port <= 0) return false;
    address.port = port;
    return true;
  }

  ListenAddress address;
  Transport transport;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() { Shutdown(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              const HttpApi* api,
                                                              storage::Clock* clock) {
  auto impl = std::make_unique<Impl>(options, api, clock);
  const absl::Status bound = impl->Bind();
  if (!bound.ok()) return bound;
  Impl* const running = impl.get();
  impl->thread = std::thread([running] { running->transport.listen_after_bind(); });
  // Stopping before the loop runs would be overlooked.
  while (!impl->transport.is_running()) std::this_thread::yield();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

const ListenAddress& HttpServer::address() const { return impl_->address; }

void HttpServer::Shutdown() {
  if (!impl_->thread.joinable()) return;
  impl_->transport.stop();
  impl_->thread.join();
}

}  // namespace snowlease::service
