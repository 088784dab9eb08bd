#include "service/rpc/grpc_server.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "grpc/support/log.h"
#include "service/rpc/rpc_test_server.h"
#include "storage/errors.h"
#include "tests/testing/matchers.h"

namespace snowlease::service {
namespace {

using storage::Millis;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StoreOperation;

constexpr int kServing = 1;
constexpr int kNotServing = 2;

TEST(GrpcServerTest, HealthFlipsForTheServerAndEachService) {
  RpcTestServer server;
  const auto channel = server.NewChannel();
  for (const bool serving : {false, true, false}) {
    if (serving) server.server().SetServing(true);
    if (!serving) server.server().SetServing(false);
    for (const char* name : {"", "snowlease.v1.MachineIdService", "snowlease.v1.AdminService"}) {
      EXPECT_EQ(HealthOf(channel, name), serving ? kServing : kNotServing) << name;
    }
  }
  EXPECT_EQ(HealthOf(channel, "no.such.Service"), -grpc::NOT_FOUND);
}

TEST(GrpcServerTest, HealthIsNotServingUntilTold) {
  RpcTestServer server;
  EXPECT_EQ(HealthOf(server.NewChannel(), ""), kNotServing);
}

TEST(GrpcServerTest, ReflectionListsTheServices) {
  RpcTestServer server;
  const std::string services = ListServices(server.NewChannel());
  EXPECT_THAT(services, HasSubstr("snowlease.v1.MachineIdService"));
  EXPECT_THAT(services, HasSubstr("snowlease.v1.AdminService"));
  EXPECT_THAT(services, HasSubstr("grpc.health.v1.Health"));
}

std::atomic<int> log_errors = 0;

// Reflection that is registered twice shows only there.
TEST(GrpcServerTest, StartLogsNoError) {
  gpr_set_log_function([](gpr_log_func_args* line) {
    if (line->severity == GPR_LOG_SEVERITY_ERROR) ++log_errors;
  });
  for (const bool reflection : {true, false, true}) {
    RpcTestOptions options;
    options.grpc.reflection = reflection;
    options.grpc.channelz = reflection;
    const RpcTestServer server(options);
  }
  gpr_set_log_function(nullptr);
  EXPECT_EQ(log_errors, 0);
}

TEST(GrpcServerTest, ReflectionCanBeOff) {
  RpcTestOptions options;
  options.grpc.reflection = false;
  RpcTestServer server(options);
  EXPECT_THAT(ListServices(server.NewChannel()), Not(HasSubstr("snowlease")));
}

TEST(GrpcServerTest, ChannelzAnswersOnlyWhereItIsOn) {
  const std::string method = "/grpc.channelz.v1.Channelz/GetServers";
  RpcTestOptions options;
  options.grpc.channelz = true;
  RpcTestServer with(options);
  const grpc::Status on = CallRaw(with.NewChannel(), method, "").status;
  EXPECT_TRUE(on.ok()) << on.error_message();
  RpcTestServer without;
  const grpc::Status off = CallRaw(without.NewChannel(), method, "").status;
  EXPECT_EQ(off.error_code(), grpc::UNIMPLEMENTED);
}

TEST(GrpcServerTest, TakenPortIsAnErrorThatNamesTheSettingAndTheAddress) {
  RpcTestServer first;
  GrpcServerOptions options;
  options.listen = first.address();
  const auto second = GrpcServer::Start(options, nullptr, nullptr, nullptr, &first.clock());
  ASSERT_THAT(second, testing::HasReason(storage::Reason::kInvalidArgument));
  const auto violations = storage::FieldViolationsOf(second.status());
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "grpc.listen");
  EXPECT_THAT(violations[0].description, HasSubstr(first.address()));
  EXPECT_THAT(violations[0].description, HasSubstr("port is in use"));
}

TEST(GrpcServerTest, AddressThatIsNotOursIsAnErrorThatSaysSo) {
  testing::FakeClock clock;
  for (const char* listen : {"192.0.2.1:7070", "no-port", "127.0.0.1:no-port"}) {
    GrpcServerOptions options;
    options.listen = listen;
    const auto server = GrpcServer::Start(options, nullptr, nullptr, nullptr, &clock);
    ASSERT_THAT(server, testing::HasReason(storage::Reason::kInvalidArgument)) << listen;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr(listen));
  }
}

// Does an idle connection survive pings once a second (as fast as gRPC's client does)?
bool ConnectionSurvivesPings(Millis tolerated) {
  RpcTestOptions options;
  options.grpc.min_client_ping_interval = tolerated;
  options.grpc.max_ping_strikes = 1;
  RpcTestServer server(options);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  const auto channel = server.NewChannel(arguments);
  EXPECT_EQ(HealthOf(channel, ""), kNotServing);
  EXPECT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
  return !channel->WaitForStateChange(GRPC_CHANNEL_READY,
                                      std::chrono::system_clock::now() + std::chrono::seconds(6));
}

// F44, with the times of 20 s and 10 s scaled down by 20. The server that allows less
// shows that the pings do arrive.
TEST(GrpcServerTest, IdleClientThatPingsHalfAsOftenAsAllowedStaysConnected) {
  bool strict_survived = true;
  std::thread strict([&] { strict_survived = ConnectionSurvivesPings(Millis(60'000)); });
  EXPECT_TRUE(ConnectionSurvivesPings(Millis(500)));
  strict.join();
  EXPECT_FALSE(strict_survived);
}

// F46
TEST(GrpcServerTest, ShutdownFailsNoCallInFlight) {
  constexpr int kCalls = 200;
  RpcTestServer server;
  server.server().SetServing(true);
  server.store().Block(StoreOperation::kClaim);
  struct Call {
    grpc::ClientContext context;
    v1::ClaimRequest request;
    v1::ClaimResponse response;
  };
  std::vector<Call> calls(kCalls);
  std::atomic<int> ok = 0;
  std::atomic<int> failed = 0;
  for (int i = 0; i < kCalls; ++i) {
    Call& call = calls[static_cast<size_t>(i)];
    call.request = server.ClaimRequestFor("orders-" + std::to_string(i));
    server.stub().async()->Claim(&call.context, &call.request, &call.response,
                                 [&](const grpc::Status& status) {
                                   EXPECT_TRUE(status.ok()) << status.error_message();
                                   ++(status.ok() ? ok : failed);
                                 });
  }
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kClaim, 1));
  ASSERT_TRUE(Eventually([&] {
    return server.committer().QueueDepth() + server.store().Elements(StoreOperation::kClaim) ==
           kCalls;
  }));
  // Half-closed at the beginning of the shutdown: by then it has begun.
  grpc::ClientContext stream_context;
  const auto stream = server.stub().KeepAlive(&stream_context);
  v1::KeepAliveRequest ping;
  ping.add_renewals();
  v1::KeepAliveResponse response;
  ASSERT_TRUE(stream->Write(ping));
  ASSERT_TRUE(stream->Read(&response));  // the server has the stream
  std::thread shutdown(
      [&] { server.server().Shutdown(server.clock().SteadyNow() + std::chrono::seconds(20)); });
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ok + failed, 0);
  server.store().Unblock(StoreOperation::kClaim);
  shutdown.join();
  EXPECT_TRUE(Eventually([&] { return ok + failed == kCalls; }));
  EXPECT_EQ(ok, kCalls);
}

TEST(GrpcServerTest, ShutdownCutsOffAtItsDeadlineWhatDoesNotEnd) {
  RpcTestServer server;
  server.store().Block(StoreOperation::kClaim);
  grpc::ClientContext context;
  v1::ClaimRequest request = server.ClaimRequestFor("orders-1");
  v1::ClaimResponse response;
  std::atomic<bool> done = false;
  grpc::Status result;
  server.stub().async()->Claim(&context, &request, &response, [&](grpc::Status status) {
    result = std::move(status);
    done = true;
  });
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kClaim, 1));
  std::thread shutdown([&] {
    server.server().Shutdown(server.clock().SteadyNow() + std::chrono::milliseconds(200));
  });
  EXPECT_TRUE(Eventually([&] { return done.load(); }));  // while the store still hangs
  EXPECT_FALSE(result.ok());
  server.store().Unblock(StoreOperation::kClaim);
  shutdown.join();
}

TEST(GrpcServerTest, ShutdownIsIdempotentAndRefusesLaterCalls) {
  RpcTestServer server;
  const auto channel = server.NewChannel();
  EXPECT_EQ(HealthOf(channel, ""), kNotServing);
  server.server().Shutdown(server.clock().SteadyNow());
  server.server().Shutdown(server.clock().SteadyNow());
  server.server().SetServing(true);
  EXPECT_EQ(HealthOf(channel, ""), -grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace snowlease::service
