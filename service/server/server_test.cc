#include "service/server/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "service/server/health_probe.h"
#include "snowlease/v1/machine_id.grpc.pb.h"
#include "storage/errors.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_injecting_lease_store.h"
#include "tests/testing/matchers.h"

// The whole server in one process: real ports, a memory store, a fake clock.

namespace snowlease::service {
namespace {

using snowlease::testing::FaultInjectingLeaseStore;
using snowlease::testing::IsOk;
using snowlease::testing::StoreOperation;
using std::chrono_literals::operator""s;
using storage::Millis;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Millis kProbe{5000};

Config TestConfig() {
  Config config;
  config.store.url = "memory:";
  config.grpc.listen = "127.0.0.1:0";
  config.http.listen = "127.0.0.1:0";
  config.drain.delay = Millis(5000);
  return config;
}

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto memory = std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock_);
    ASSERT_THAT(memory->Migrate(storage::MigrateMode::kAuto), IsOk());
    auto store = std::make_unique<FaultInjectingLeaseStore>(std::move(memory));
    store_ = store.get();
    environment_ = std::make_unique<Environment>(TestConfig(), &clock_, std::move(store));
    auto server = Server::Start(environment_.get());
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    http_ = std::make_unique<httplib::Client>("127.0.0.1", server_->http_address()->port);
    http_->set_read_timeout(30s);
  }

  // Moves the clock on until it is so.
  template <typename Condition>
  ::testing::AssertionResult Eventually(Condition condition, Millis step = Millis(1000)) {
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > patience) return ::testing::AssertionFailure();
      clock_.Advance(step);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return ::testing::AssertionSuccess();
  }

  void AdvanceToNextPing() {
    const int pings = store_->Calls(StoreOperation::kPing);
    clock_.Advance(Millis(1000));
    EXPECT_TRUE(
        Eventually([&] { return store_->Calls(StoreOperation::kPing) > pings; }, Millis(0)));
  }

  std::string ClaimBody() const {
    return "{\"namespace\":\"n\",\"instanceId\":\"i\",\"incarnationId\":\"AAECAwQFBgcICQoLDA0ODw=="
           "\","
           "\"machineBits\":4,\"clientTimeMs\":\"" +
           std::to_string(clock_.Now().ms) + "\"}";
  }

  snowlease::testing::FakeClock clock_;
  FaultInjectingLeaseStore* store_ = nullptr;
  std::unique_ptr<Environment> environment_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<httplib::Client> http_;
};

TEST_F(ServerTest, ServesOnBothPortsWhenItHasStarted) {
  EXPECT_TRUE(server_->ready());
  EXPECT_THAT(ProbeHealth(server_->grpc_address(), kProbe), IsOk());
  EXPECT_EQ(http_->Get("/readyz")->status, 200);
  EXPECT_EQ(http_->Post("/v1/machine-ids:claim", ClaimBody(), "application/json")->status, 200);
}

// F47
TEST_F(ServerTest, ReadinessGoesWithTheStoreAndComesBackByItself) {
  constexpr int kPings = 20;  // then the store answers again
  store_->FailNext(StoreOperation::kPing, kPings, storage::StoreUnavailableError("gone"));
  // No more than needed, so that the outage lasts for the look at it.
  while (http_->Get("/readyz")->status == 200) AdvanceToNextPing();
  EXPECT_FALSE(ProbeHealth(server_->grpc_address(), kProbe).ok());
  EXPECT_EQ(http_->Get("/livez")->status, 200);
  EXPECT_THAT(http_->Get("/metrics")->body, HasSubstr("snowlease_store_up 0"));

  ASSERT_TRUE(Eventually([&] { return http_->Get("/readyz")->status == 200; }));
  EXPECT_TRUE(Eventually([&] { return ProbeHealth(server_->grpc_address(), kProbe).ok(); }));
}

TEST_F(ServerTest, MetricsFollowTheNamespacesWhileTheyAreScraped) {
  http_->Get("/metrics");
  ASSERT_EQ(http_->Post("/v1/machine-ids:claim", ClaimBody(), "application/json")->status, 200);
  EXPECT_TRUE(Eventually([&] {
    return http_->Get("/metrics")->body.find("snowlease_leases{state=\"held\"} 1\n") !=
           std::string::npos;
  }));
}

TEST_F(ServerTest, GrpcCallsAreCountedByMethodAndCode) {
  const auto channel =
      grpc::CreateChannel(server_->grpc_address().ToString(), grpc::InsecureChannelCredentials());
  const auto stub = snowlease::v1::MachineIdService::NewStub(channel);
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    v1::RenewResponse response;
    EXPECT_EQ(stub->Renew(&context, {}, &response).error_code(), grpc::INVALID_ARGUMENT);
  }
  EXPECT_THAT(
      http_->Get("/metrics")->body,
      AllOf(HasSubstr("grpc_server_handled_total{grpc_code=\"InvalidArgument\",grpc_method="
                      "\"Renew\",grpc_service=\"snowlease.v1.MachineIdService\",grpc_type="
                      "\"unary\"} 2\n"),
            HasSubstr("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"KeepAlive\",")));
}

// F47
TEST_F(ServerTest, StoreThatHangsTakesReadinessAndGivesItBack) {
  store_->Block(StoreOperation::kPing);
  EXPECT_TRUE(Eventually([&] { return http_->Get("/readyz")->status == 503; }, Millis(500)));
  EXPECT_EQ(http_->Get("/livez")->status, 200);
  store_->Unblock(StoreOperation::kPing);
  EXPECT_TRUE(Eventually([&] { return http_->Get("/readyz")->status == 200; }, Millis(500)));
}

TEST_F(ServerTest, LateRenewalsShowInTheMetrics) {
  ASSERT_EQ(http_->Post("/v1/machine-ids:claim", ClaimBody(), "application/json")->status, 200);
  clock_.Advance(Millis(100'000));
  const std::string renewal =
      "{\"namespace\":\"n\",\"machineId\":0,\"instanceId\":\"i\",\"token\":1,\"clientTimeMs\":\"" +
      std::to_string(clock_.Now().ms) + "\"}";
  ASSERT_EQ(http_->Post("/v1/machine-ids:renew", renewal, "application/json")->status, 200);
  EXPECT_THAT(http_->Get("/metrics")->body,
              HasSubstr("snowlease_renewal_lateness_seconds_sum 40\n"));
}

TEST_F(ServerTest, DrainTellsWaitsAndFinishesWhatWasAccepted) {
  store_->Block(StoreOperation::kClaim);
  auto claim = std::async(std::launch::async, [&] {
    httplib::Client client("127.0.0.1", server_->http_address()->port);
    client.set_read_timeout(30s);
    return client.Post("/v1/machine-ids:claim", ClaimBody(), "application/json")->status;
  });
  ASSERT_TRUE(store_->AwaitBlocked(StoreOperation::kClaim, 1));

  std::atomic<bool> drained = false;
  std::thread drain([&] {
    server_->Drain();
    drained = true;
  });
  // Still there, and saying that it goes, for as long as the delay lasts.
  const auto said = [&] { return http_->Get("/readyz")->status == 503; };
  while (!said()) std::this_thread::yield();
  EXPECT_THAT(http_->Get("/readyz")->body, HasSubstr("\"component\":\"draining\",\"ok\":false"));
  EXPECT_FALSE(ProbeHealth(server_->grpc_address(), kProbe).ok());
  EXPECT_FALSE(drained);

  clock_.Advance(Millis(5000));
  store_->Unblock(StoreOperation::kClaim);
  EXPECT_EQ(claim.get(), 200);
  drain.join();
  EXPECT_FALSE(http_->Get("/livez"));
  EXPECT_FALSE(ProbeHealth(server_->grpc_address(), kProbe).ok());
  server_->Drain();  // nothing to do
}

TEST_F(ServerTest, TakenPortsStopTheStartAndLeaveNothingListening) {
  Config config = TestConfig();
  config.http.listen = server_->http_address()->ToString();
  Environment second(config, &clock_,
                     std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock_));
  const auto http_taken = Server::Start(&second);
  ASSERT_THAT(http_taken, snowlease::testing::HasReason(storage::Reason::kInvalidArgument));
  EXPECT_THAT(std::string(http_taken.status().message()), HasSubstr("http.listen"));

  config = TestConfig();
  config.grpc.listen = server_->grpc_address().ToString();
  Environment third(config, &clock_,
                    std::make_unique<storage::MemoryLeaseStore>(storage::StoreOptions{}, &clock_));
  const auto grpc_taken = Server::Start(&third);
  ASSERT_THAT(grpc_taken, snowlease::testing::HasReason(storage::Reason::kInvalidArgument));
  EXPECT_THAT(std::string(grpc_taken.status().message()), HasSubstr("grpc.listen"));
}

TEST(EnvironmentTest, StoreThatCannotBeOpenedIsAnError) {
  Config config;
  config.store.url = "sqlite:/proc/nowhere/x.db";
  const auto environment = Environment::Open(config, storage::Clock::Real());
  ASSERT_FALSE(environment.ok());
  EXPECT_THAT(std::string(environment.status().message()), HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace snowlease::service
