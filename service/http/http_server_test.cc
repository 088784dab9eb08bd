#include "service/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "service/http/http_test_backend.h"
#include "tests/testing/matchers.h"

// Over real connections, with the host's clock.

namespace snowlease::service {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A connection that sends what it is told, byte by byte if need be.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool Send(const std::string& text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // All that comes until the server closes.
  std::string Receive() {
    std::string all;
    char chunk[4096];
    for (ssize_t size; (size = ::recv(socket_, chunk, sizeof(chunk), 0)) > 0;) {
      all.append(chunk, static_cast<size_t>(size));
    }
    return all;
  }

 private:
  const int socket_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }

  void Start(HttpServerOptions options) {
    server_.reset();
    options.listen = {"127.0.0.1", 0};
    auto server = HttpServer::Start(options, &backend_.api, storage::Clock::Real());
    ASSERT_THAT(server, snowlease::testing::IsOk());
    server_ = *std::move(server);
    port_ = server_->address().port;
  }

  std::string Exchange(const std::string& request) {
    RawClient client(port_);
    client.Send(request);
    return client.Receive();
  }

  HttpTestBackend backend_{storage::Clock::Real()};
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
};

TEST_F(HttpServerTest, AnswersPagesAndCalls) {
  httplib::Client client("127.0.0.1", port_);
  EXPECT_EQ(client.Get("/livez")->status, 200);
  EXPECT_EQ(client.Get("/readyz?verbose=1")->status, 200);
  EXPECT_THAT(client.Get("/metrics")->body, HasSubstr("snowlease_build_info"));
  EXPECT_EQ(client.Head("/livez")->status, 200);
  EXPECT_EQ(client.Get("/")->status, 404);
  EXPECT_EQ(client.Options("/v1/machine-ids:claim")->status, 405);
  EXPECT_EQ(client.Delete("/livez")->status, 405);
  const auto answer = client.Post("/v1/admin:listNamespaces", "{}", "application/json");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
}

TEST_F(HttpServerTest, LargeBodiesAreRefusedWithTheLimitAndTheAnswerArrives) {
  const std::string body(1 << 20, 'x');
  const std::string head =
      "POST /v1/machine-ids:claim HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n";
  EXPECT_THAT(Exchange(head), HasSubstr("65536 bytes"));
  httplib::Client client("127.0.0.1", port_);
  const auto answer =
      client.Post("/v1/machine-ids:claim", std::string(65'537, 'x'), "application/json");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
}

TEST_F(HttpServerTest, BodiesInChunksAreRefusedUnread) {
  EXPECT_THAT(Exchange("POST /v1/machine-ids:claim HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "ffffffff\r\n"),
              StartsWith("HTTP/1.1 411 "));
}

TEST_F(HttpServerTest, WhatIsNoHttpIsRefusedAndTheServerLivesOn) {
  for (const std::string request :
       {"\x16\x03\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET /livez HTTP/1.1\r\nbroken\r\n\r\n"}) {
    EXPECT_THAT(Exchange(request), StartsWith("HTTP/1.1 400 ")) << request;
  }
  EXPECT_THAT(Exchange("GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 4"));
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/livez")->status, 200);
}

TEST_F(HttpServerTest, SilentClientsGiveWayToOthers) {
  HttpServerOptions options;
  options.threads = 2;
  options.request_timeout = storage::Millis(60'000);
  Start(options);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<RawClient>(port_));
  for (int i = 0; i < 3; ++i) {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(20s);
    const auto answer = client.Get("/livez");
    ASSERT_TRUE(answer) << httplib::to_string(answer.error());
    EXPECT_EQ(answer->status, 200);
  }
}

TEST_F(HttpServerTest, RequestThatComesInDropsIsCutOffAfterItsTime) {
  HttpServerOptions options;
  options.request_timeout = storage::Millis(300);
  Start(options);
  RawClient client(port_);
  ASSERT_TRUE(client.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: "));
  // Each byte comes well before any timeout of a single read.
  std::thread drops([&client] {
    for (int i = 0; i < 2000 && client.Send("x"); ++i) std::this_thread::sleep_for(5ms);
  });
  client.Receive();  // returns when the server gave up
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/livez")->status, 200);
  drops.join();
}

TEST_F(HttpServerTest, MoreConnectionsThanCanWaitAreTurnedAway) {
  HttpServerOptions options;
  options.threads = 2;
  Start(options);
  backend_.store.Block(snowlease::testing::StoreOperation::kRead);
  const std::string call =
      "POST /v1/admin:listNamespaces HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
  std::vector<std::unique_ptr<RawClient>> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.push_back(std::make_unique<RawClient>(port_));
    waiting.back()->Send(call);
  }
  ASSERT_TRUE(backend_.store.AwaitBlocked(snowlease::testing::StoreOperation::kRead, 2));
  for (int i = 0; i < 16; ++i) {
    waiting.push_back(std::make_unique<RawClient>(port_));
    waiting.back()->Send(call);
  }
  EXPECT_THAT(RawClient(port_).Receive(), StartsWith("HTTP/1.1 503 "));
  backend_.store.Unblock(snowlease::testing::StoreOperation::kRead);
  for (const auto& client : waiting) EXPECT_THAT(client->Receive(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, TakenPortIsRefusedByNameOfTheSetting) {
  HttpServerOptions options;
  options.listen = server_->address();
  const auto second = HttpServer::Start(options, &backend_.api, storage::Clock::Real());
  EXPECT_THAT(second, snowlease::testing::HasReason(storage::Reason::kInvalidArgument));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("http.listen"));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use"));
}

TEST_F(HttpServerTest, ShutdownDoesNotWaitForSilentClients) {
  HttpServerOptions options;
  options.request_timeout = storage::Millis(3'600'000);
  Start(options);
  RawClient silent(port_);
  // The second client's answer shows that the first one's connection was accepted.
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/livez")->status, 200);
  server_->Shutdown();  // the test's own time limit is far below an hour
  EXPECT_EQ(silent.Receive(), "");
}

}  // namespace
}  // namespace snowlease::service
