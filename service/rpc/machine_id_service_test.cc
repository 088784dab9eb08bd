#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "service/rpc/rpc_test_server.h"
#include "storage/errors.h"

// MachineIdService's unary calls over a real connection.

namespace snowlease::service {
namespace {

using storage::Millis;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StoreOperation;
using ::testing::UnorderedElementsAre;

grpc::Status Renew(RpcTestServer& server, const v1::RenewRequest& request,
                   v1::RenewResponse* response = nullptr, grpc::ClientContext* context = nullptr) {
  grpc::ClientContext own;
  v1::RenewResponse ignored;
  return server.stub().Renew(context ? context : &own, request, response ? response : &ignored);
}

grpc::Status Claim(RpcTestServer& server, const v1::ClaimRequest& request,
                   v1::ClaimResponse* response = nullptr) {
  grpc::ClientContext context;
  v1::ClaimResponse ignored;
  return server.stub().Claim(&context, request, response ? response : &ignored);
}

// A call that is under way while the test goes on.
struct PendingRenew {
  grpc::ClientContext context;
  v1::RenewRequest request;
  v1::RenewResponse response;
  grpc::Status status;
  std::atomic<bool> done = false;

  void Start(RpcTestServer& server, const v1::RenewRequest& what) {
    request = what;
    server.stub().async()->Renew(&context, &request, &response, [this](grpc::Status result) {
      status = std::move(result);
      done = true;
    });
  }
  grpc::Status Await() {
    EXPECT_TRUE(Eventually([this] { return done.load(); }));
    return status;
  }
};

TEST(MachineIdServiceTest, ClaimRenewReleaseAndWatermarkWork) {
  RpcTestServer server;
  const v1::Lease lease = server.Claim("orders-1");
  EXPECT_EQ(lease.namespace_(), "orders");
  EXPECT_EQ(lease.machine_id(), 0u);
  EXPECT_EQ(lease.token(), 1u);
  EXPECT_EQ(lease.source(), v1::LEASE_SOURCE_NEW);
  EXPECT_EQ(lease.window_end_ms(), server.NowMs() + 290'000);
  EXPECT_EQ(lease.expires_at_ms(), server.NowMs() + 300'000);
  EXPECT_FALSE(lease.store_id().empty());
  EXPECT_NEAR(static_cast<double>(lease.renew_after().seconds()), 60, 6);

  server.clock().Advance(Millis(1000));
  v1::RenewRequest renew = server.RenewRequestFor(lease);
  renew.set_last_timestamp_ms(server.NowMs() - 10);
  v1::RenewResponse renewed;
  ASSERT_TRUE(Renew(server, renew, &renewed).ok());
  EXPECT_EQ(renewed.lease().watermark_ms(), server.NowMs() - 10);
  EXPECT_EQ(renewed.lease().window_end_ms(), server.NowMs() + 290'000);
  EXPECT_EQ(renewed.lease().store_id(), lease.store_id());

  v1::WatermarkRequest read;
  read.set_namespace_("orders");
  read.set_machine_id(0);
  v1::WatermarkResponse watermark;
  grpc::ClientContext read_context;
  ASSERT_TRUE(server.stub().Watermark(&read_context, read, &watermark).ok());
  EXPECT_EQ(watermark.watermark_ms(), server.NowMs() - 10);
  read.mutable_raise()->set_instance_id("orders-1");
  read.mutable_raise()->set_token(1);
  read.mutable_raise()->set_raise_to_ms(server.NowMs() - 3);
  grpc::ClientContext raise_context;
  ASSERT_TRUE(server.stub().Watermark(&raise_context, read, &watermark).ok());
  EXPECT_EQ(watermark.watermark_ms(), server.NowMs() - 3);

  v1::ReleaseRequest release;
  release.set_namespace_("orders");
  release.set_machine_id(0);
  release.set_instance_id("orders-1");
  release.set_token(1);
  release.set_last_timestamp_ms(server.NowMs() - 2);
  for (int i = 0; i < 2; ++i) {  // repeating it succeeds
    grpc::ClientContext context;
    v1::ReleaseResponse released;
    EXPECT_TRUE(server.stub().Release(&context, release, &released).ok());
  }
  EXPECT_EQ(ReasonOf(Renew(server, renew)), "MACHINE_ID_LOST");
}

TEST(MachineIdServiceTest, AllViolationsComeAtOnce) {
  RpcTestServer server;
  const grpc::Status status = Claim(server, v1::ClaimRequest());
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "INVALID_ARGUMENT");
  EXPECT_THAT(FieldsOf(status), UnorderedElementsAre("namespace", "instance_id", "incarnation_id",
                                                     "machine_bits", "client_time_ms"));
}

TEST(MachineIdServiceTest, TextThatIsNotUtf8IsNamed) {
  RpcTestServer server;
  v1::ClaimRequest request = server.ClaimRequestFor("orders-1");
  request.set_namespace_("a\xFF");
  request.set_instance_id("\xC0\x80");
  request.mutable_proof();
  const grpc::Status status = Claim(server, request);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "INVALID_ARGUMENT");
  EXPECT_THAT(FieldsOf(status), UnorderedElementsAre("namespace", "instance_id"));
  (*request.mutable_metadata())["\xFF"] = "v";
  EXPECT_THAT(FieldsOf(Claim(server, request)),
              UnorderedElementsAre("namespace", "instance_id", "metadata.key"));
}

TEST(MachineIdServiceTest, BytesThatAreNoMessageAreRefused) {
  RpcTestServer server;
  const RawAnswer answer = CallRaw(server.NewChannel(), "/snowlease.v1.MachineIdService/Claim",
                                   "\x0A\x7FGET / HTTP/1.1");
  EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(FieldsOf(answer.status), ElementsAre("request"));
  EXPECT_THAT(answer.status.error_message(), HasSubstr("snowlease.v1.ClaimRequest"));
}

TEST(MachineIdServiceTest, NulBytesInNamesAreRefused) {
  RpcTestServer server;
  v1::ClaimRequest request = server.ClaimRequestFor(std::string("a\0b", 3));
  EXPECT_THAT(FieldsOf(Claim(server, request)), ElementsAre("instance_id"));
}

TEST(MachineIdServiceTest, HostileNamespacesStayApart) {
  RpcTestServer server;
  const std::string emoji = "\xF0\x9F\x90\xA7";
  for (const std::string& name :
       {std::string("a"), std::string("a.b"), std::string("a__b"), std::string("A"),
        std::string("a%"), std::string(200, 'n'), emoji, std::string("'; DROP TABLE leases; --")}) {
    v1::ClaimRequest request = server.ClaimRequestFor("one");
    request.set_namespace_(name);
    v1::ClaimResponse response;
    ASSERT_TRUE(Claim(server, request, &response).ok()) << name;
    EXPECT_EQ(response.lease().namespace_(), name);
    EXPECT_EQ(response.lease().machine_id(), 0u) << name;
  }
}

TEST(MachineIdServiceTest, LongestNamesInAnErrorReachTheClient) {
  RpcTestServer server;
  v1::RenewRequest request = server.RenewRequestFor(v1::Lease());
  request.set_token(1);
  std::string name;
  while (name.size() < 200) name += "\xF0\x9F\x90\xA7";
  request.set_namespace_(name);
  request.set_instance_id(std::string(200, '%'));
  const grpc::Status status = Renew(server, request);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "MACHINE_ID_LOST");
}

TEST(MachineIdServiceTest, OversizedMessageIsRefusedWithItsSize) {
  RpcTestServer server;
  v1::ClaimRequest request = server.ClaimRequestFor("orders-1");
  (*request.mutable_metadata())["k"] = std::string(70'000, 'v');
  const grpc::Status status = Claim(server, request);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("larger than max"));
  EXPECT_THAT(status.error_message(), HasSubstr("65536"));
  // The connection goes on.
  EXPECT_TRUE(Claim(server, server.ClaimRequestFor("orders-1")).ok());
}

TEST(MachineIdServiceTest, EveryStoreErrorArrivesWithItsCodeAndReason) {
  RpcTestServer server;
  const v1::RenewRequest request = server.RenewRequestFor(server.Claim("orders-1"));
  const std::vector<std::pair<absl::Status, grpc::StatusCode>> errors = {
      {storage::MachineIdLostError(storage::EndCause::kRevoked, {"orders", 0, "orders-1", 1}),
       grpc::FAILED_PRECONDITION},
      {storage::CapExceededError("orders", 1, 1), grpc::RESOURCE_EXHAUSTED},
      {storage::StoreResetError(Millis(5)), grpc::FAILED_PRECONDITION},
      {storage::StoreUnavailableError("down"), grpc::UNAVAILABLE},
      {storage::StoreTimeoutError("slow"), grpc::UNAVAILABLE},
      {storage::NotFoundError("no namespace"), grpc::NOT_FOUND},
      {storage::PermissionDeniedError("no"), grpc::PERMISSION_DENIED},
      {storage::InternalError("bug"), grpc::INTERNAL},
  };
  for (const auto& [error, code] : errors) {
    server.store().FailNext(StoreOperation::kRenew, 1, error);
    const grpc::Status status = Renew(server, request);
    EXPECT_EQ(status.error_code(), code) << error;
    EXPECT_EQ(ReasonOf(status), storage::ReasonName(storage::ReasonOf(error)));
  }
}

// F21
TEST(MachineIdServiceTest, RepeatAfterALostAnswerSucceedsWithTheSameToken) {
  RpcTestServer server;
  const v1::ClaimRequest claim = server.ClaimRequestFor("orders-1");
  server.store().LoseAnswerOfNext(StoreOperation::kClaim, 1);
  EXPECT_EQ(Claim(server, claim).error_code(), grpc::UNAVAILABLE);
  v1::ClaimResponse claimed;
  ASSERT_TRUE(Claim(server, claim, &claimed).ok());
  EXPECT_EQ(claimed.lease().token(), 1u);

  const v1::RenewRequest renew = server.RenewRequestFor(claimed.lease());
  server.store().LoseAnswerOfNext(StoreOperation::kRenew, 1);
  EXPECT_EQ(ReasonOf(Renew(server, renew)), "STORE_UNAVAILABLE");
  v1::RenewResponse renewed;
  ASSERT_TRUE(Renew(server, renew, &renewed).ok());
  EXPECT_EQ(renewed.lease().token(), 1u);
  const auto rows = server.store().ListLeases("orders", {}, 0, 10);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->size(), 1u);
}

TEST(MachineIdServiceTest, OverloadTellsHowLongToStayAway) {
  RpcTestOptions options;
  options.committer.max_queue = 1;
  options.committer.workers = 1;
  RpcTestServer server(options);
  const v1::Lease first = server.Claim("orders-1");
  const v1::Lease second = server.Claim("orders-2");
  const v1::Lease third = server.Claim("orders-3");
  server.store().Block(StoreOperation::kRenew);
  PendingRenew in_store;
  in_store.Start(server, server.RenewRequestFor(first));
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  PendingRenew queued;
  queued.Start(server, server.RenewRequestFor(second));
  ASSERT_TRUE(Eventually([&] { return server.committer().QueueDepth() == 1; }));

  grpc::ClientContext context;
  const grpc::Status status = Renew(server, server.RenewRequestFor(third), nullptr, &context);
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "OVERLOADED");
  const auto pushback = context.GetServerTrailingMetadata().find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, context.GetServerTrailingMetadata().end());
  EXPECT_GT(std::stoi(std::string(pushback->second.data(), pushback->second.size())), 0);

  server.store().Unblock(StoreOperation::kRenew);
  EXPECT_TRUE(in_store.Await().ok());
  EXPECT_TRUE(queued.Await().ok());
  EXPECT_TRUE(Renew(server, server.RenewRequestFor(third)).ok());
}

TEST(MachineIdServiceTest, DeadlineOfTheCallReachesTheQueue) {
  RpcTestOptions options;
  options.committer.workers = 1;
  options.committer.max_queue_age = Millis(3'600'000);
  RpcTestServer server(options);
  const v1::Lease first = server.Claim("orders-1");
  const v1::Lease second = server.Claim("orders-2");
  const v1::Lease third = server.Claim("orders-3");
  server.store().Block(StoreOperation::kRenew);
  PendingRenew in_store;
  in_store.Start(server, server.RenewRequestFor(first));
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  PendingRenew one_minute;
  one_minute.context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  one_minute.Start(server, server.RenewRequestFor(second));
  PendingRenew without;
  without.Start(server, server.RenewRequestFor(third));
  ASSERT_TRUE(Eventually([&] { return server.committer().QueueDepth() == 2; }));

  server.clock().Advance(Millis(11'000));  // beyond the default of 10 s
  server.store().Unblock(StoreOperation::kRenew);
  EXPECT_EQ(ReasonOf(without.Await()), "STORE_TIMEOUT");
  EXPECT_TRUE(one_minute.Await().ok());

  server.store().Block(StoreOperation::kRenew);
  PendingRenew again;
  again.Start(server, server.RenewRequestFor(first));
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  PendingRenew late;
  late.context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  late.Start(server, server.RenewRequestFor(second));
  ASSERT_TRUE(Eventually([&] { return server.committer().QueueDepth() == 1; }));
  server.clock().Advance(Millis(61'000));
  server.store().Unblock(StoreOperation::kRenew);
  EXPECT_EQ(ReasonOf(late.Await()), "STORE_TIMEOUT");
}

TEST(MachineIdServiceTest, ClaimsCreateOnlyAllowedNamespaces) {
  RpcTestOptions options;
  options.handler.namespace_creation.patterns = {"team-*"};
  RpcTestServer server(options);
  v1::ClaimRequest request = server.ClaimRequestFor("orders-1");
  EXPECT_FALSE(Claim(server, request).ok());
  request.set_namespace_("team-a");
  EXPECT_TRUE(Claim(server, request).ok());
}

TEST(MachineIdServiceTest, DrainedCommitterAnswersDraining) {
  RpcTestServer server;
  const v1::Lease lease = server.Claim("orders-1");
  server.committer().Drain();
  const grpc::Status status = Renew(server, server.RenewRequestFor(lease));
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DRAINING");
}

}  // namespace
}  // namespace snowlease::service
