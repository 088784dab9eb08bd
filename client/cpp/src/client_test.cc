#include "snowlease/client.h"

#include <thread>

#include "client/cpp/src/scripted_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

class ClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect(ClientOptions options = {}) {
    options.endpoints = {server_.address()};
    options.clock = &clock_;
    auto client = Client::Create(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  void Fail(int times, const google::rpc::Status& status) {
    for (int i = 0; i < times; ++i) {
      server_.Then([status](grpc::ServerContext*) { return ToGrpc(status); });
    }
  }

  v1::ClaimRequest Request() const {
    v1::ClaimRequest request;
    request.set_namespace_("orders");
    request.set_incarnation_id(NewIncarnationId());
    return request;
  }

  ScriptedServer server_;
  InstantClock clock_;
};

TEST_F(ClientTest, AnswersAreReturned) {
  const auto client = Connect();
  const auto response = client->Claim(Request());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->lease().machine_id(), 7u);
}

// F21: the repeat carries the same incarnation.
TEST_F(ClientTest, RetriesSendTheSameRequest) {
  Fail(1, ErrorWith(grpc::UNAVAILABLE, "STORE_UNAVAILABLE"));
  Fail(1, ErrorWith(grpc::UNAVAILABLE, "STORE_TIMEOUT"));
  Fail(1, ErrorWith(grpc::UNAVAILABLE, "DRAINING"));
  server_.Then([](grpc::ServerContext*) { return grpc::Status(grpc::UNAVAILABLE, "bare"); });
  const auto request = Request();
  EXPECT_TRUE(Connect()->Claim(request).ok());
  EXPECT_THAT(server_.requests(), SizeIs(5));
  EXPECT_THAT(server_.requests(), Each(request.SerializeAsString()));
  EXPECT_THAT(clock_.waits(), SizeIs(4));
}

// F40
TEST_F(ClientTest, RetriesAreBounded) {
  Fail(10, ErrorWith(grpc::UNAVAILABLE, "STORE_UNAVAILABLE"));
  const auto response = Connect()->Claim(Request());
  EXPECT_EQ(ReasonOf(response.status()), Reason::kStoreUnavailable);
  EXPECT_TRUE(IsRetryable(response.status()));
  EXPECT_THAT(server_.requests(), SizeIs(5));
}

TEST_F(ClientTest, PushbackIsHonoured) {
  server_.Then([](grpc::ServerContext* context) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "1234");
    return ToGrpc(ErrorWith(grpc::UNAVAILABLE, "OVERLOADED"));
  });
  EXPECT_TRUE(Connect()->Claim(Request()).ok());
  ASSERT_THAT(clock_.waits(), SizeIs(1));
  EXPECT_THAT(clock_.waits(), Each(Ge(milliseconds(1234))));
  EXPECT_THAT(clock_.waits(), Each(Le(milliseconds(1500))));
}

TEST_F(ClientTest, PushbackIsToldToTheCaller) {
  server_.Then([](grpc::ServerContext* context) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "1234");
    return ToGrpc(ErrorWith(grpc::UNAVAILABLE, "OVERLOADED"));
  });
  const auto response = Connect({.retry = {.max_attempts = 1}})->Claim(Request());
  EXPECT_EQ(RetryDelayOf(response.status()), milliseconds(1234));
}

TEST_F(ClientTest, NegativePushbackForbidsTheRetry) {
  server_.Then([](grpc::ServerContext* context) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "-1");
    return ToGrpc(ErrorWith(grpc::UNAVAILABLE, "OVERLOADED"));
  });
  EXPECT_EQ(ReasonOf(Connect()->Claim(Request()).status()), Reason::kOverloaded);
  EXPECT_THAT(server_.requests(), SizeIs(1));
}

TEST_F(ClientTest, LostIsToldAtOnceWithItsCause) {
  Fail(1, ErrorWith(grpc::FAILED_PRECONDITION, "MACHINE_ID_LOST", {{"cause", "SUPERSEDED"}}));
  v1::RenewRequest request;
  request.set_token(3);
  const auto response = Connect()->Renew(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(response.status()));
  EXPECT_EQ(LossCauseOf(response.status()), LossCause::kSuperseded);
  EXPECT_THAT(server_.requests(), SizeIs(1));
}

TEST_F(ClientTest, UnreachableServerIsNeverALoss) {
  server_.Stop();
  const auto response = Connect()->Renew({});
  EXPECT_TRUE(absl::IsUnavailable(response.status()));
  EXPECT_EQ(LossCauseOf(response.status()), LossCause::kNone);
  EXPECT_TRUE(IsRetryable(response.status()));
}

TEST_F(ClientTest, OwnDeadlineOfAnAttemptIsRetried) {
  server_.Then([](grpc::ServerContext* context) {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  });
  EXPECT_TRUE(Connect({.attempt_timeout = milliseconds(200)})->Claim(Request()).ok());
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

TEST_F(ClientTest, WholeCallEndsAtItsDeadline) {
  for (int i = 0; i < 5; ++i) {
    server_.Then([](grpc::ServerContext* context) {
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    });
  }
  const auto client = Connect({.attempt_timeout = milliseconds(200)});
  const auto begin = clock_.SteadyNow();
  const auto response = client->Claim(Request(), {.timeout = milliseconds(450)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << response.status();
  EXPECT_LT(clock_.SteadyNow() - begin, milliseconds(2000));
  EXPECT_LE(server_.requests().size(), 3u);
}

// F46: so ends a call that meets a server at the moment at which it begins to stop.
TEST_F(ClientTest, CallThatTheServerDropsIsRetried) {
  server_.Then([](grpc::ServerContext*) { return grpc::Status::CANCELLED; });
  EXPECT_TRUE(Connect()->Claim(Request()).ok());
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

// F46: with the defaults and in real time; the server comes back on its port after 1.5 s.
TEST_F(ClientTest, CallOutlastsARestartOfTheServer) {
  auto client = Client::Create({.endpoints = {server_.address()}});
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE((*client)->Claim(Request()).ok());
  server_.Stop();
  std::thread restart([this] {
    std::this_thread::sleep_for(milliseconds(1500));
    server_.Restart();
  });
  const auto answer = (*client)->Claim(Request());
  restart.join();
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(ClientTest, StoppedCallIsCancelled) {
  std::stop_source stop;
  server_.Then([&stop](grpc::ServerContext* context) {
    stop.request_stop();
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  });
  EXPECT_TRUE(absl::IsCancelled(Connect()->Claim(Request(), {.stop = stop.get_token()}).status()));
}

TEST_F(ClientTest, StopEndsTheWaitForARetry) {
  std::stop_source stop;
  Fail(1, ErrorWith(grpc::UNAVAILABLE, "DRAINING"));
  clock_.on_wait = [&stop] { stop.request_stop(); };
  EXPECT_TRUE(absl::IsCancelled(Connect()->Claim(Request(), {.stop = stop.get_token()}).status()));
  EXPECT_THAT(server_.requests(), SizeIs(1));
}

TEST_F(ClientTest, SeveralEndpointsTakeTurnsAndADeadOneIsLeftOut) {
  ScriptedServer other;
  ClientOptions options{.endpoints = {server_.address(), other.address()}, .clock = &clock_};
  const auto client = Client::Create(options);
  ASSERT_TRUE(client.ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*client)->Claim(Request()).ok());
  EXPECT_THAT(server_.requests(), SizeIs(5));
  EXPECT_THAT(other.requests(), SizeIs(5));
  other.Stop();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*client)->Claim(Request()).ok());
  EXPECT_THAT(server_.requests(), SizeIs(15));
}

TEST_F(ClientTest, RetryGoesToTheNextEndpoint) {
  ScriptedServer other;
  Fail(1, ErrorWith(grpc::UNAVAILABLE, "DRAINING"));
  ClientOptions options{.endpoints = {server_.address(), other.address()}, .clock = &clock_};
  ASSERT_TRUE((*Client::Create(options))->Claim(Request()).ok());
  EXPECT_THAT(server_.requests(), SizeIs(1));
  EXPECT_THAT(other.requests(), SizeIs(1));
}

TEST(ClientOptionsTest, EachBadOptionIsNamed) {
  const auto problem = [](const ClientOptions& options) {
    return std::string(Client::Create(options).status().message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(problem({.endpoints = {}}), HasSubstr("endpoints"));
  EXPECT_THAT(problem({.endpoints = {"localhost"}}), HasSubstr("'localhost'"));
  EXPECT_THAT(problem({.timeout = milliseconds(0)}), HasSubstr("timeout"));
  EXPECT_THAT(problem({.attempt_timeout = milliseconds(-1)}), HasSubstr("attempt_timeout"));
  EXPECT_THAT(problem({.retry = {.max_attempts = 0}}), HasSubstr("max_attempts"));
  EXPECT_THAT(problem({.retry = {.initial_backoff = milliseconds(0)}}),
              HasSubstr("initial_backoff"));
  EXPECT_THAT(problem({.retry = {.max_backoff = milliseconds(1)}}), HasSubstr("max_backoff"));
  EXPECT_THAT(problem({.keepalive_time = milliseconds(1)}), HasSubstr("keepalive_time"));
  EXPECT_THAT(problem({.tls = TlsOptions{.ca_file = "/nowhere.pem"}}),
              HasSubstr("tls.ca_file: /nowhere.pem cannot be read"));
  EXPECT_THAT(problem({.tls = TlsOptions{.ca_file = "/proc/self/status"}}), HasSubstr("no PEM"));
  EXPECT_THAT(problem({.tls = TlsOptions{.key_file = "k"}}), HasSubstr("tls.cert_file"));
}

}  // namespace
}  // namespace snowlease::client
