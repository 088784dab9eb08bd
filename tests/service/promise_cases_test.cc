#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <set>

#include "service/rpc/rpc_test_server.h"

// Field reports of the promise, seen as an instance and an operator see them: over a real
// connection, through validation, group commit and status details. Cases by name as in
// docs/field-reports.md; the rules themselves are tested by tests/storage on every store.

namespace snowlease::service {
namespace {

using storage::Millis;

constexpr int64_t kSafeGuardMs = 300'000;
constexpr int64_t kWindowMs = 290'000;

struct Answer {
  grpc::Status status;
  v1::Lease lease;

  std::string reason() const { return ReasonOf(status); }
};

class PromiseCasesTest : public ::testing::Test {
 protected:
  // One bit: two machine ids, so that what is left of a namespace is plain to see.
  v1::ClaimRequest ClaimBy(const std::string& instance, char incarnation, int bits = 1) const {
    v1::ClaimRequest request = server_.ClaimRequestFor(instance, incarnation);
    request.set_machine_bits(bits);
    request.mutable_max_wait()->set_nanos(500'000'000);
    return request;
  }

  Answer Claim(const v1::ClaimRequest& request) {
    grpc::ClientContext context;
    v1::ClaimResponse response;
    const grpc::Status status = server_.stub().Claim(&context, request, &response);
    return {status, response.lease()};
  }

  v1::Lease Granted(const v1::ClaimRequest& request) {
    Answer answer = Claim(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.lease;
  }

  Answer Renew(const v1::Lease& lease, std::optional<int64_t> client_time = std::nullopt) {
    v1::RenewRequest request = server_.RenewRequestFor(lease);
    if (client_time) request.set_client_time_ms(*client_time);
    grpc::ClientContext context;
    v1::RenewResponse response;
    const grpc::Status status = server_.stub().Renew(&context, request, &response);
    return {status, response.lease()};
  }

  grpc::Status Release(const v1::Lease& lease, int64_t last_timestamp) {
    v1::ReleaseRequest request;
    request.set_namespace_(lease.namespace_());
    request.set_machine_id(lease.machine_id());
    request.set_instance_id(lease.instance_id());
    request.set_token(lease.token());
    request.set_last_timestamp_ms(last_timestamp);
    grpc::ClientContext context;
    v1::ReleaseResponse response;
    return server_.stub().Release(&context, request, &response);
  }

  v1::LeaseRecord Record(uint32_t machine_id) {
    v1::GetLeaseRequest request;
    request.set_namespace_("orders");
    request.set_machine_id(machine_id);
    grpc::ClientContext context;
    v1::GetLeaseResponse response;
    const grpc::Status status = server_.admin().GetLease(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.lease();
  }

  grpc::Status DeleteNamespace() {
    v1::DeleteNamespaceRequest request;
    request.set_name("orders");
    request.set_reason("test");
    grpc::ClientContext context;
    v1::DeleteNamespaceResponse response;
    return server_.admin().DeleteNamespace(&context, request, &response);
  }

  grpc::Status ReserveId(uint32_t machine_id, bool reserve) {
    grpc::ClientContext context;
    if (reserve) {
      v1::ReserveIdsRequest request;
      request.set_namespace_("orders");
      request.add_machine_ids(machine_id);
      request.set_reason("test");
      v1::ReserveIdsResponse response;
      return server_.admin().ReserveIds(&context, request, &response);
    }
    v1::UnreserveIdsRequest request;
    request.set_namespace_("orders");
    request.add_machine_ids(machine_id);
    request.set_floor_ms(server_.NowMs());
    request.set_reason("test");
    v1::UnreserveIdsResponse response;
    return server_.admin().UnreserveIds(&context, request, &response);
  }

  void Advance(int64_t ms) { server_.clock().Advance(Millis(ms)); }
  int64_t Now() const { return server_.NowMs(); }

  RpcTestServer server_;
};

void Prove(v1::ClaimRequest& request, char incarnation, int64_t reserved_until) {
  request.mutable_proof()->set_incarnation_id(std::string(16, incarnation));
  request.mutable_proof()->set_reserved_until_ms(reserved_until);
}

TEST_F(PromiseCasesTest, M01TakerThatCrashedWhileWaitingStillStartsAboveTheFirstWindow) {
  v1::ClaimRequest ahead = ClaimBy("x", 'x');
  ahead.set_client_time_ms(Now() + 10'400);
  const v1::Lease x = Granted(ahead);
  const v1::Lease other = Granted(ClaimBy("other", 'o'));
  Advance(kSafeGuardMs - 1);
  ASSERT_TRUE(Renew(other).status.ok());
  Advance(1);
  const v1::Lease a = Granted(ClaimBy("a", 'a'));
  ASSERT_EQ(a.machine_id(), x.machine_id());
  EXPECT_EQ(a.floor_ms(), x.window_end_ms());

  v1::ClaimRequest again = ClaimBy("a", 'b');
  Prove(again, 'a', Now());  // its clock has not even reached the floor
  EXPECT_EQ(Claim(again).reason(), "WINDOW_OPEN");
  Prove(again, 'a', a.floor_ms());
  EXPECT_GE(Granted(again).floor_ms(), x.window_end_ms());
}

TEST_F(PromiseCasesTest, M02NextHolderStartsAboveWhatAHostThatSteppedAheadIssued) {
  const v1::Lease lease = Granted(ClaimBy("x", 'x'));
  Granted(ClaimBy("other", 'o'));
  const int64_t issued = Now() + 200'500;
  const Answer renewed = Renew(lease, Now() + 200'000);
  ASSERT_TRUE(renewed.status.ok());
  EXPECT_EQ(renewed.lease.window_end_ms(), Now() + 60'000 + kWindowMs);
  EXPECT_THAT(renewed.lease.warnings(), ::testing::Contains(v1::LEASE_WARNING_CLIENT_CLOCK_AHEAD));
  ASSERT_TRUE(Release(lease, issued).ok());
  EXPECT_EQ(Claim(ClaimBy("next", 'n')).reason(), "CLOCK_BEHIND");
  Advance(issued - Now());
  const v1::Lease next = Granted(ClaimBy("next", 'n'));
  EXPECT_EQ(next.machine_id(), lease.machine_id());
  EXPECT_EQ(next.floor_ms(), issued);
}

TEST_F(PromiseCasesTest, M03CleanReleaseOfASuccessorDoesNotForgetTheZombiesWindow) {
  v1::ClaimRequest request = ClaimBy("a", '1');
  request.set_stable(true);
  request.mutable_max_wait()->set_seconds(600);
  const v1::Lease first = Granted(request);
  request.set_incarnation_id(std::string(16, '2'));
  const v1::Lease second = Granted(request);
  EXPECT_EQ(second.machine_id(), first.machine_id());
  EXPECT_TRUE(second.superseded_live_lease());
  ASSERT_TRUE(Release(second, 0).ok());
  request.set_incarnation_id(std::string(16, '3'));
  const v1::Lease third = Granted(request);
  EXPECT_EQ(third.source(), v1::LEASE_SOURCE_OWN);
  EXPECT_GE(third.floor_ms(), first.window_end_ms());
}

TEST_F(PromiseCasesTest, M04LateReleaseOfTheGrantBeforeChangesNothing) {
  const v1::Lease first = Granted(ClaimBy("a", '1'));
  v1::ClaimRequest again = ClaimBy("a", '2');
  Prove(again, '1', Now());
  const v1::Lease second = Granted(again);
  ASSERT_EQ(second.machine_id(), first.machine_id());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ReasonOf(Release(first, Now())), "MACHINE_ID_LOST");
  }
  const v1::LeaseRecord record = Record(first.machine_id());
  EXPECT_EQ(record.state(), v1::LEASE_STATE_HELD);
  EXPECT_EQ(record.token(), second.token());
  EXPECT_EQ(record.window_end_ms(), second.window_end_ms());
  EXPECT_TRUE(Renew(second).status.ok());
}

TEST_F(PromiseCasesTest, M05TakeoverAnswersAFloorWithTheWindowItEnded) {
  const v1::Lease dead = Granted(ClaimBy("dead", 'd'));
  const v1::Lease other = Granted(ClaimBy("other", 'o'));
  Advance(kSafeGuardMs - 1);
  ASSERT_TRUE(Renew(other).status.ok());
  EXPECT_EQ(Claim(ClaimBy("next", 'n')).reason(), "MACHINE_ID_OVERFLOW");
  Advance(1);
  const v1::Lease next = Granted(ClaimBy("next", 'n'));
  EXPECT_EQ(next.source(), v1::LEASE_SOURCE_EXPIRED);
  EXPECT_EQ(next.machine_id(), dead.machine_id());
  EXPECT_EQ(next.floor_ms(), dead.window_end_ms());
  EXPECT_EQ(next.token(), dead.token() + 1);
  EXPECT_EQ(Renew(dead).reason(), "MACHINE_ID_LOST");
}

// M18.
TEST_F(PromiseCasesTest, M06NamespaceDeletedTwiceKeepsItsFloorsAndTokens) {
  const v1::Lease before = Granted(ClaimBy("a", '1'));
  EXPECT_EQ(ReasonOf(DeleteNamespace()), "NAMESPACE_NOT_EMPTY");
  Advance(kSafeGuardMs);
  ASSERT_TRUE(DeleteNamespace().ok());
  const v1::Lease after = Granted(ClaimBy("b", '2'));
  EXPECT_GE(after.floor_ms(), before.window_end_ms());
  EXPECT_GT(after.token(), before.token());

  ASSERT_TRUE(Release(after, 0).ok());
  ASSERT_TRUE(DeleteNamespace().ok());
  const v1::Lease last = Granted(ClaimBy("c", '3'));
  EXPECT_GE(last.floor_ms(), before.window_end_ms());
  EXPECT_GT(last.token(), after.token());
}

TEST_F(PromiseCasesTest, M18KeptAndReservedIdsForbidTheDeletion) {
  v1::ClaimRequest request = ClaimBy("stable", 's');
  request.set_stable(true);
  const v1::Lease stable = Granted(request);
  ASSERT_TRUE(Release(stable, 0).ok());
  EXPECT_EQ(ReasonOf(DeleteNamespace()), "NAMESPACE_NOT_EMPTY");

  v1::ForceReleaseRequest force;
  force.set_namespace_("orders");
  force.set_machine_id(stable.machine_id());
  force.set_expected_token(stable.token());
  force.set_reason("test");
  grpc::ClientContext context;
  v1::ForceReleaseResponse forced;
  ASSERT_TRUE(server_.admin().ForceRelease(&context, force, &forced).ok());
  ASSERT_TRUE(ReserveId(1, true).ok());
  EXPECT_EQ(ReasonOf(DeleteNamespace()), "NAMESPACE_NOT_EMPTY");
  ASSERT_TRUE(ReserveId(1, false).ok());
  EXPECT_TRUE(DeleteNamespace().ok());
}

TEST_F(PromiseCasesTest, M16EqualTokenOfAnotherMachineIdIsNoProof) {
  const v1::Lease a = Granted(ClaimBy("a", 'a'));
  const v1::Lease b = Granted(ClaimBy("b", 'b'));
  ASSERT_EQ(a.token(), b.token());
  v1::ClaimRequest again = ClaimBy("a", 'c');
  Prove(again, 'b', Now());
  EXPECT_EQ(Claim(again).reason(), "WINDOW_OPEN");
  EXPECT_EQ(Record(a.machine_id()).token(), a.token());
  Prove(again, 'a', Now());
  EXPECT_EQ(Granted(again).machine_id(), a.machine_id());
}

TEST_F(PromiseCasesTest, M19SlowBootClockCostsAStableInstanceNothing) {
  v1::ClaimRequest request = ClaimBy("stable", '1');
  request.set_stable(true);
  const v1::Lease lease = Granted(request);
  ASSERT_TRUE(Release(lease, Now()).ok());
  const v1::LeaseRecord before = Record(lease.machine_id());
  request.set_incarnation_id(std::string(16, '2'));
  request.set_client_time_ms(Now() - 60'000);
  EXPECT_EQ(Claim(request).reason(), "WINDOW_OPEN");
  EXPECT_EQ(Record(lease.machine_id()).SerializeAsString(), before.SerializeAsString());
  request.set_client_time_ms(Now());
  EXPECT_EQ(Granted(request).machine_id(), lease.machine_id());
}

TEST_F(PromiseCasesTest, M21StoreClockThatLeaptDelaysNoTakeover) {
  const v1::Lease a = Granted(ClaimBy("a", 'a'));
  const v1::Lease b = Granted(ClaimBy("b", 'b'));
  server_.clock().StepHost(Millis(3'600'000));
  ASSERT_TRUE(Renew(a, Now() - 3'600'000).status.ok());
  ASSERT_TRUE(Renew(b, Now() - 3'600'000).status.ok());
  // Looks at all leases while their expiries are an hour off.
  EXPECT_EQ(Claim(ClaimBy("c", 'c')).reason(), "MACHINE_ID_OVERFLOW");
  server_.clock().StepHost(Millis(-3'600'000));
  Advance(1000);
  ASSERT_TRUE(Renew(a).status.ok());
  ASSERT_TRUE(Renew(b).status.ok());

  Advance(kSafeGuardMs - 1);  // and a is never heard of again
  ASSERT_TRUE(Renew(b).status.ok());
  EXPECT_EQ(Claim(ClaimBy("c", 'c')).reason(), "MACHINE_ID_OVERFLOW");
  Advance(1);
  const v1::Lease c = Granted(ClaimBy("c", 'c'));
  EXPECT_EQ(c.machine_id(), a.machine_id());
  EXPECT_EQ(c.source(), v1::LEASE_SOURCE_EXPIRED);
}

TEST_F(PromiseCasesTest, F34ParallelClaimsOnExpiredLeasesAllGetTheirOwn) {
  constexpr int kBits = 7;
  constexpr size_t kClaims = 50;
  for (int i = 0; i < 1 << kBits; ++i) {
    Granted(ClaimBy("dead-" + std::to_string(i), 'd', kBits));
  }
  Advance(kSafeGuardMs);
  struct Call {
    grpc::ClientContext context;
    v1::ClaimRequest request;
    v1::ClaimResponse response;
    grpc::Status status;
  };
  std::deque<Call> calls(kClaims);
  std::atomic<size_t> done = 0;
  for (size_t i = 0; i < kClaims; ++i) {
    Call& call = calls[i];
    call.request = ClaimBy("new-" + std::to_string(i), 'n', kBits);
    server_.stub().async()->Claim(&call.context, &call.request, &call.response,
                                  [&call, &done](grpc::Status status) {
                                    call.status = std::move(status);
                                    ++done;
                                  });
  }
  ASSERT_TRUE(Eventually([&] { return done == kClaims; }));
  std::set<uint32_t> machine_ids;
  for (const Call& call : calls) {
    EXPECT_TRUE(call.status.ok()) << call.status.error_message();
    EXPECT_EQ(call.response.lease().source(), v1::LEASE_SOURCE_EXPIRED);
    machine_ids.insert(call.response.lease().machine_id());
  }
  EXPECT_EQ(machine_ids.size(), kClaims);
}

}  // namespace
}  // namespace snowlease::service
