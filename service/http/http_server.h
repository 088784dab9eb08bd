#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "service/config/values.h"
#include "service/http/http_api.h"
#include "storage/clock.h"

namespace snowlease::service {

struct HttpServerOptions {
  ListenAddress listen{"127.0.0.1", 7071};
  int threads = 16;
  storage::Millis request_timeout{10'000};  // for receiving, and again for answering
};

// Serves an HttpApi, one request per connection, on threads of its own. Clients that
// are slow or silent give way to others.
class HttpServer {
 public:
  // What it is started with must outlive it. Errors: INVALID_ARGUMENT (field
  // http.listen) when the address cannot be bound. [::] falls back to 0.0.0.0 where
  // there is no IPv6.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           const HttpApi* api,
                                                           storage::Clock* clock);
  ~HttpServer();

  // Where it listens, with the port that it has.
  const ListenAddress& address() const;
  // Accepts no more and waits for requests under way. Idempotent.
  void Shutdown();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace snowlease::service
