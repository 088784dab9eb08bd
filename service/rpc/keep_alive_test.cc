#include <gmock/gmock.h>

#include <map>
#include <set>
#include <thread>

#include "service/rpc/rpc_test_server.h"

// KeepAlive streams over a real connection.

namespace snowlease::service {
namespace {

using storage::Millis;
using ::testing::Pair;
using testing::StoreOperation;
using ::testing::UnorderedElementsAre;

using Results = std::map<uint64_t, v1::RenewalResult>;

// A client's side of a stream.
class Stream {
 public:
  explicit Stream(RpcTestServer& server) : stream_(server.stub().KeepAlive(&context_)) {}
  explicit Stream(v1::MachineIdService::Stub& stub) : stream_(stub.KeepAlive(&context_)) {}

  bool Send(const std::map<uint64_t, v1::RenewRequest>& renewals) {
    v1::KeepAliveRequest request;
    for (const auto& [tag, renew] : renewals) {
      v1::Renewal* renewal = request.add_renewals();
      renewal->set_tag(tag);
      *renewal->mutable_renew() = renew;
    }
    return stream_->Write(request);
  }

  bool Send(const v1::KeepAliveRequest& request) { return stream_->Write(request); }

  // Reads until `count` results are there or the stream ends.
  Results Receive(size_t count) {
    Results results;
    v1::KeepAliveResponse response;
    while (results.size() < count && stream_->Read(&response)) {
      ++messages_;
      for (const auto& result : response.results()) {
        EXPECT_TRUE(results.emplace(result.tag(), result).second) << "answered twice";
      }
    }
    return results;
  }

  grpc::Status HalfCloseAndFinish() {
    stream_->WritesDone();
    return stream_->Finish();
  }
  grpc::Status Finish() { return stream_->Finish(); }
  void Cancel() { context_.TryCancel(); }
  int messages() const { return messages_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::KeepAliveRequest, v1::KeepAliveResponse>> stream_;
  int messages_ = 0;
};

std::string InstanceName(uint64_t number) {
  return std::string("i").append(std::to_string(number));
}

std::vector<v1::Lease> ClaimMany(RpcTestServer& server, int count) {
  const std::string name_space("k");  // GCC 12 warns falsely of assigning the literal
  std::vector<storage::ClaimSpec> specs(static_cast<size_t>(count));
  for (size_t i = 0; i < specs.size(); ++i) {
    specs[i].name_space = name_space;
    specs[i].instance_id = InstanceName(i);
    specs[i].incarnation_id[0] = 1;
    specs[i].machine_bits = 12;
    specs[i].client_time = {server.NowMs()};
  }
  std::vector<v1::Lease> leases;
  for (const auto& granted : server.store().Claim(specs, {})) {
    EXPECT_TRUE(granted.ok()) << granted.status();
    v1::Lease& lease = leases.emplace_back();
    lease.set_namespace_("k");
    lease.set_instance_id(*granted->row.instance_id);
    lease.set_machine_id(granted->row.machine_id);
    lease.set_token(granted->row.token);
  }
  return leases;
}

TEST(KeepAliveTest, AnswersEveryTagWithItsLease) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 3);
  Stream stream(server);
  ASSERT_TRUE(stream.Send({{7, server.RenewRequestFor(leases[0])},
                           {UINT64_MAX, server.RenewRequestFor(leases[1])},
                           {0, server.RenewRequestFor(leases[2])}}));
  const Results results = stream.Receive(3);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results.at(7).lease().instance_id(), "i0");
  EXPECT_EQ(results.at(UINT64_MAX).lease().instance_id(), "i1");
  EXPECT_EQ(results.at(0).lease().instance_id(), "i2");
  EXPECT_EQ(results.at(0).lease().window_end_ms(), server.NowMs() + 290'000);
  EXPECT_FALSE(results.at(0).lease().store_id().empty());
  EXPECT_TRUE(results.at(0).lease().has_renew_after());
  EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
}

TEST(KeepAliveTest, OneBadRenewalNeverEndsTheStream) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 1);
  const v1::RenewRequest good = server.RenewRequestFor(leases[0]);
  v1::RenewRequest lost = good;
  lost.set_token(99);
  v1::RenewRequest hostile = good;
  hostile.set_namespace_("\xFF\xFE");
  v1::RenewRequest nul = good;
  nul.set_instance_id(std::string("\0", 1));
  Stream stream(server);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(stream.Send({{1, good}, {2, lost}, {3, v1::RenewRequest()}, {4, nul}}));
    Results results = stream.Receive(4);
    ASSERT_EQ(results.size(), 4u);
    EXPECT_TRUE(results[1].has_lease());
    EXPECT_EQ(ReasonOf(results[2].error()), "MACHINE_ID_LOST");
    EXPECT_EQ(results[2].error().code(), grpc::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(results[3].error()), "INVALID_ARGUMENT");
    EXPECT_EQ(ReasonOf(results[4].error()), "INVALID_ARGUMENT");

    // A message that does not parse as a whole, because of one renewal's text.
    ASSERT_TRUE(stream.Send({{5, good}, {6, hostile}}));
    results = stream.Receive(2);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_TRUE(results[5].has_lease());
    EXPECT_EQ(ReasonOf(results[6].error()), "INVALID_ARGUMENT");
    EXPECT_THAT(results[6].error().message(), ::testing::HasSubstr("namespace"));
  }
  EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
}

TEST(KeepAliveTest, ThousandRenewalsInOneMessageAreAnsweredInFew) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 1000);
  std::map<uint64_t, v1::RenewRequest> renewals;
  for (size_t i = 0; i < leases.size(); ++i) renewals[i] = server.RenewRequestFor(leases[i]);
  Stream stream(server);
  ASSERT_TRUE(stream.Send(renewals));
  const Results results = stream.Receive(1000);
  ASSERT_EQ(results.size(), 1000u);
  for (const auto& [tag, result] : results) {
    ASSERT_TRUE(result.has_lease()) << result.error().message();
    EXPECT_EQ(result.lease().instance_id(), InstanceName(tag));
  }
  EXPECT_LT(stream.messages(), 300);
  EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
}

TEST(KeepAliveTest, MessageWithTooManyRenewalsEndsTheStreamAndSaysWhy) {
  RpcTestServer server;
  v1::KeepAliveRequest request;
  for (int i = 0; i < 1025; ++i) request.add_renewals();
  Stream stream(server);
  ASSERT_TRUE(stream.Send(request));
  EXPECT_TRUE(stream.Receive(1).empty());
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(FieldsOf(status), ::testing::ElementsAre("renewals"));
}

TEST(KeepAliveTest, EmptyMessagesAreHarmless) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 1);
  Stream stream(server);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream.Send(v1::KeepAliveRequest()));
  ASSERT_TRUE(stream.Send({{1, server.RenewRequestFor(leases[0])}}));
  EXPECT_EQ(stream.Receive(1).size(), 1u);
  EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
}

TEST(KeepAliveTest, ClientsHalfCloseStillGetsEveryAnswer) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 100);
  server.store().Block(StoreOperation::kRenew);
  grpc::ClientContext context;
  const auto stream = server.stub().KeepAlive(&context);
  for (size_t i = 0; i < leases.size(); ++i) {
    v1::KeepAliveRequest request;
    request.add_renewals()->set_tag(i);
    *request.mutable_renewals(0)->mutable_renew() = server.RenewRequestFor(leases[i]);
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  server.store().Unblock(StoreOperation::kRenew);
  std::set<uint64_t> tags;
  v1::KeepAliveResponse response;
  while (stream->Read(&response)) {
    for (const auto& result : response.results()) tags.insert(result.tag());
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(tags.size(), 100u);
}

// The server answers what it has read, then closes its side with OK.
TEST(KeepAliveTest, DrainAnswersWhatWasReadThenHalfCloses) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 2);
  server.store().Block(StoreOperation::kRenew);
  Stream busy(server);
  ASSERT_TRUE(
      busy.Send({{1, server.RenewRequestFor(leases[0])}, {2, server.RenewRequestFor(leases[1])}}));
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  Stream idle(server);
  ASSERT_TRUE(idle.Send({{1, v1::RenewRequest()}}));
  ASSERT_EQ(idle.Receive(1).size(), 1u);  // the server has it

  std::thread shutdown(
      [&] { server.server().Shutdown(server.clock().SteadyNow() + std::chrono::seconds(20)); });
  EXPECT_TRUE(idle.Receive(1).empty());
  EXPECT_TRUE(idle.Finish().ok());
  server.store().Unblock(StoreOperation::kRenew);
  EXPECT_EQ(busy.Receive(2).size(), 2u);
  EXPECT_TRUE(busy.Receive(1).empty());
  EXPECT_TRUE(busy.Finish().ok());
  shutdown.join();
}

TEST(KeepAliveTest, StreamOfAnOldConnectionEndsWithOkBeforeItIsCut) {
  RpcTestOptions options;
  options.grpc.max_connection_age = Millis(300);
  options.grpc.max_connection_age_grace = Millis(3000);
  RpcTestServer server(options);
  const auto leases = ClaimMany(server, 1);
  // gRPC opens a new connection for the second stream.
  for (int round = 0; round < 2; ++round) {
    Stream stream(server);
    ASSERT_TRUE(stream.Send({{1, server.RenewRequestFor(leases[0])}}));
    EXPECT_EQ(stream.Receive(1).size(), 1u);
    EXPECT_TRUE(stream.Receive(1).empty());  // until the server closes
    const grpc::Status status = stream.Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST(KeepAliveTest, CancelledStreamWithAnswersInFlightLeavesNothingBehind) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 50);
  server.store().Block(StoreOperation::kRenew);
  {
    Stream stream(server);
    std::map<uint64_t, v1::RenewRequest> renewals;
    for (size_t i = 0; i < leases.size(); ++i) renewals[i] = server.RenewRequestFor(leases[i]);
    ASSERT_TRUE(stream.Send(renewals));
    ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
    stream.Cancel();
    EXPECT_EQ(stream.Finish().error_code(), grpc::CANCELLED);
  }
  server.store().Unblock(StoreOperation::kRenew);
  // The next stream works, and the shutdown at the end finds nothing to wait for.
  Stream next(server);
  ASSERT_TRUE(next.Send({{1, server.RenewRequestFor(leases[0])}}));
  EXPECT_EQ(next.Receive(1).size(), 1u);
  next.Cancel();
  next.Finish();
  const auto begin = std::chrono::steady_clock::now();
  server.server().Shutdown(server.clock().SteadyNow() + std::chrono::seconds(20));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(KeepAliveTest, ReadsNoMoreThanTheBoundOfUnansweredRenewals) {
  RpcTestOptions options;
  options.grpc.max_unanswered_renewals = 10;
  options.committer.workers = 1;
  RpcTestServer server(options);
  const auto leases = ClaimMany(server, 51);
  server.store().Block(StoreOperation::kRenew);
  Stream stream(server);
  ASSERT_TRUE(stream.Send({{0, server.RenewRequestFor(leases[0])}}));
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  for (size_t i = 1; i < leases.size(); ++i) {
    ASSERT_TRUE(stream.Send({{i, server.RenewRequestFor(leases[i])}}));
  }
  ASSERT_TRUE(Eventually([&] { return server.committer().QueueDepth() == 9; }));
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(server.committer().QueueDepth(), 9u);
  }
  server.store().Unblock(StoreOperation::kRenew);
  EXPECT_EQ(stream.Receive(51).size(), 51u);
  EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
}

TEST(KeepAliveTest, OverloadAnswersTheRenewalAndTheStreamGoesOn) {
  RpcTestOptions options;
  options.committer.max_queue = 1;
  options.committer.workers = 1;
  RpcTestServer server(options);
  const auto leases = ClaimMany(server, 3);
  server.store().Block(StoreOperation::kRenew);
  Stream stream(server);
  ASSERT_TRUE(stream.Send({{0, server.RenewRequestFor(leases[0])}}));
  ASSERT_TRUE(server.store().AwaitBlocked(StoreOperation::kRenew, 1));
  ASSERT_TRUE(stream.Send({{1, server.RenewRequestFor(leases[1])}}));
  ASSERT_TRUE(Eventually([&] { return server.committer().QueueDepth() == 1; }));
  ASSERT_TRUE(stream.Send({{2, server.RenewRequestFor(leases[2])}}));
  const Results refused = stream.Receive(1);
  ASSERT_EQ(refused.count(2), 1u);
  EXPECT_EQ(ReasonOf(refused.at(2).error()), "OVERLOADED");
  server.store().Unblock(StoreOperation::kRenew);
  EXPECT_EQ(stream.Receive(2).size(), 2u);
  EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
}

TEST(KeepAliveTest, ManyStreamsAtOnceAnswerEverything) {
  RpcTestServer server;
  const auto leases = ClaimMany(server, 64);
  std::vector<std::thread> clients;
  for (size_t c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      const auto stub = v1::MachineIdService::NewStub(server.NewChannel());
      Stream stream(*stub);
      for (uint64_t round = 0; round < 100; ++round) {
        std::map<uint64_t, v1::RenewRequest> renewals;
        for (size_t i = 0; i < 8; ++i) {
          renewals[round * 8 + i] = server.RenewRequestFor(leases[c * 8 + i]);
        }
        ASSERT_TRUE(stream.Send(renewals));
        const Results results = stream.Receive(8);
        ASSERT_EQ(results.size(), 8u);
        for (const auto& [tag, result] : results) ASSERT_TRUE(result.has_lease());
      }
      EXPECT_TRUE(stream.HalfCloseAndFinish().ok());
    });
  }
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace snowlease::service
