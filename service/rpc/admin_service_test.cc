#include <gmock/gmock.h>

#include "service/rpc/rpc_test_server.h"

// AdminService over a real connection.

namespace snowlease::service {
namespace {

using storage::Millis;
using ::testing::ElementsAre;

template <typename Request, typename Response>
using Method = grpc::Status (v1::AdminService::Stub::*)(grpc::ClientContext*, const Request&,
                                                        Response*);

template <typename Request, typename Response>
grpc::Status Call(RpcTestServer& server, Method<Request, Response> method, const Request& request,
                  Response* response) {
  grpc::ClientContext context;
  return (server.admin().*method)(&context, request, response);
}

using Stub = v1::AdminService::Stub;

v1::GetLeaseResponse GetLease(RpcTestServer& server, uint32_t machine_id) {
  v1::GetLeaseRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(machine_id);
  v1::GetLeaseResponse response;
  const grpc::Status status = Call(server, &Stub::GetLease, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST(AdminServiceTest, AnswersNothingUnlessEnabled) {
  RpcTestOptions options;
  options.admin_enabled = false;
  RpcTestServer server(options);
  const auto channel = server.NewChannel();
  const auto* service =
      v1::GetNamespaceRequest::descriptor()->file()->FindServiceByName("AdminService");
  ASSERT_EQ(service->method_count(), 10);
  for (int i = 0; i < service->method_count(); ++i) {
    const std::string method = "/snowlease.v1.AdminService/" + service->method(i)->name();
    const RawAnswer answer = CallRaw(channel, method, "");
    EXPECT_EQ(answer.status.error_code(), grpc::PERMISSION_DENIED) << method;
    EXPECT_EQ(ReasonOf(answer.status), "ADMIN_DISABLED") << method;
  }
}

TEST(AdminServiceTest, EveryMethodValidatesItsRequest) {
  RpcTestServer server;
  const auto channel = server.NewChannel();
  const auto* service =
      v1::GetNamespaceRequest::descriptor()->file()->FindServiceByName("AdminService");
  for (int i = 0; i < service->method_count(); ++i) {
    if (service->method(i)->name() == "ListNamespaces") continue;  // needs nothing
    const std::string method = "/snowlease.v1.AdminService/" + service->method(i)->name();
    const RawAnswer answer = CallRaw(channel, method, "");
    EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT) << method;
    EXPECT_EQ(ReasonOf(answer.status), "INVALID_ARGUMENT") << method;
  }
}

TEST(AdminServiceTest, PagesThroughLeasesWithoutGapsOrRepeats) {
  RpcTestServer server;
  for (int i = 0; i < 7; ++i) server.Claim("orders-" + std::to_string(i));
  v1::ListLeasesRequest request;
  request.set_namespace_("orders");
  request.set_page_size(3);
  std::vector<uint32_t> seen;
  int pages = 0;
  do {
    v1::ListLeasesResponse response;
    ASSERT_TRUE(Call(server, &Stub::ListLeases, request, &response).ok());
    for (const auto& lease : response.leases()) seen.push_back(lease.machine_id());
    request.set_page_token(response.next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < 10);
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(pages, 3);
}

TEST(AdminServiceTest, PageTokenOfAnotherQueryIsRefused) {
  RpcTestServer server;
  for (int i = 0; i < 3; ++i) server.Claim("orders-" + std::to_string(i));
  v1::ListLeasesRequest request;
  request.set_namespace_("orders");
  request.set_page_size(1);
  v1::ListLeasesResponse response;
  ASSERT_TRUE(Call(server, &Stub::ListLeases, request, &response).ok());
  ASSERT_FALSE(response.next_page_token().empty());
  request.set_page_token(response.next_page_token());
  request.set_instance_id_prefix("other");
  const grpc::Status status = Call(server, &Stub::ListLeases, request, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "PAGE_TOKEN_INVALID");
  v1::ListNamespacesRequest other;
  other.set_page_token(request.page_token());
  v1::ListNamespacesResponse ignored;
  EXPECT_EQ(ReasonOf(Call(server, &Stub::ListNamespaces, other, &ignored)), "PAGE_TOKEN_INVALID");
}

TEST(AdminServiceTest, FiltersLeasesByStateAndInstance) {
  RpcTestServer server;
  server.Claim("a-1");
  server.Claim("b-1");
  v1::ListLeasesRequest request;
  request.set_namespace_("orders");
  request.set_instance_id_prefix("b-");
  v1::ListLeasesResponse response;
  ASSERT_TRUE(Call(server, &Stub::ListLeases, request, &response).ok());
  ASSERT_EQ(response.leases_size(), 1);
  EXPECT_EQ(response.leases(0).instance_id(), "b-1");
  request.set_state(v1::LEASE_STATE_RESERVED);
  ASSERT_TRUE(Call(server, &Stub::ListLeases, request, &response).ok());
  EXPECT_EQ(response.leases_size(), 0);
}

TEST(AdminServiceTest, ListsNamespacesByNameInPages) {
  RpcTestServer server;
  for (const char* name : {"b", "a", "c"}) {
    v1::UpdateNamespaceRequest request;
    request.set_name(name);
    request.set_machine_bits(4);
    request.set_allow_missing(true);
    request.set_reason("test");
    v1::UpdateNamespaceResponse response;
    ASSERT_TRUE(Call(server, &Stub::UpdateNamespace, request, &response).ok());
    EXPECT_EQ(response.namespace_().capacity(), 16u);
  }
  v1::ListNamespacesRequest request;
  request.set_page_size(2);
  v1::ListNamespacesResponse first;
  ASSERT_TRUE(Call(server, &Stub::ListNamespaces, request, &first).ok());
  ASSERT_EQ(first.namespaces_size(), 2);
  EXPECT_EQ(first.namespaces(0).name(), "a");
  request.set_page_token(first.next_page_token());
  v1::ListNamespacesResponse second;
  ASSERT_TRUE(Call(server, &Stub::ListNamespaces, request, &second).ok());
  ASSERT_EQ(second.namespaces_size(), 1);
  EXPECT_EQ(second.namespaces(0).name(), "c");
  EXPECT_TRUE(second.next_page_token().empty());
}

// M13
TEST(AdminServiceTest, RepeatedForceReleaseNeverHitsTheNextHolder) {
  RpcTestServer server;
  const v1::Lease lease = server.Claim("orders-1");
  v1::ForceReleaseRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(lease.machine_id());
  request.set_expected_token(lease.token());
  request.set_reason("host is gone");
  v1::ForceReleaseResponse response;
  ASSERT_TRUE(Call(server, &Stub::ForceRelease, request, &response).ok());
  EXPECT_EQ(response.grantable_from_ms(), lease.window_end_ms());

  server.clock().Advance(Millis(400'000));
  const v1::Lease next = server.Claim("orders-2");
  ASSERT_EQ(next.machine_id(), lease.machine_id());
  Call(server, &Stub::ForceRelease, request, &response);
  const v1::GetLeaseResponse now = GetLease(server, lease.machine_id());
  EXPECT_EQ(now.lease().state(), v1::LEASE_STATE_HELD);
  EXPECT_EQ(now.lease().token(), next.token());

  const auto audit = server.store().ListAudit("orders", 10);
  ASSERT_TRUE(audit.ok());
  ASSERT_FALSE(audit->empty());
  EXPECT_EQ(audit->back().actor, "anonymous");
  EXPECT_EQ(audit->back().reason, "host is gone");
}

TEST(AdminServiceTest, ShowsALeaseWithItsHistoryAndOwner) {
  RpcTestServer server;
  const v1::Lease lease = server.Claim("orders-1");
  const v1::GetLeaseResponse shown = GetLease(server, lease.machine_id());
  EXPECT_EQ(shown.lease().instance_id(), "orders-1");
  EXPECT_EQ(shown.lease().next_floor_ms(), lease.window_end_ms());
  ASSERT_EQ(shown.grants_size(), 1);
  EXPECT_EQ(shown.grants(0).end_cause(), v1::LOSS_CAUSE_UNSPECIFIED);

  v1::FindOwnerRequest owner;
  owner.set_namespace_("orders");
  owner.set_machine_id(lease.machine_id());
  owner.set_timestamp_ms(lease.window_end_ms());
  v1::FindOwnerResponse found;
  ASSERT_TRUE(Call(server, &Stub::FindOwner, owner, &found).ok());
  ASSERT_EQ(found.grants_size(), 1);
  EXPECT_EQ(found.grants(0).instance_id(), "orders-1");
  owner.set_timestamp_ms(lease.window_end_ms() + 1);
  ASSERT_TRUE(Call(server, &Stub::FindOwner, owner, &found).ok());
  EXPECT_EQ(found.grants_size(), 0);
}

TEST(AdminServiceTest, ReservesAndUnreservesIds) {
  RpcTestServer server;
  server.Claim("orders-1");
  v1::ReserveIdsRequest reserve;
  reserve.set_namespace_("orders");
  reserve.add_machine_ids(1);
  reserve.add_machine_ids(2);
  reserve.set_reason("old hosts");
  v1::ReserveIdsResponse reserved;
  ASSERT_TRUE(Call(server, &Stub::ReserveIds, reserve, &reserved).ok());
  EXPECT_EQ(server.Claim("orders-2").machine_id(), 3u);
  reserve.set_machine_ids(0, 0);  // held: all or none
  EXPECT_EQ(ReasonOf(Call(server, &Stub::ReserveIds, reserve, &reserved)), "NAMESPACE_POLICY");

  v1::GetNamespaceRequest get;
  get.set_name("orders");
  v1::GetNamespaceResponse got;
  ASSERT_TRUE(Call(server, &Stub::GetNamespace, get, &got).ok());
  EXPECT_EQ(got.namespace_().reserved(), 2u);
  EXPECT_EQ(got.namespace_().held(), 2u);
  EXPECT_EQ(got.namespace_().never_used(), 4096u - 4u);

  v1::UnreserveIdsRequest unreserve;
  unreserve.set_namespace_("orders");
  unreserve.add_machine_ids(1);
  unreserve.set_floor_ms(server.NowMs());
  unreserve.set_reason("done");
  v1::UnreserveIdsResponse unreserved;
  ASSERT_TRUE(Call(server, &Stub::UnreserveIds, unreserve, &unreserved).ok());
  EXPECT_EQ(GetLease(server, 1).lease().state(), v1::LEASE_STATE_FREE);
  EXPECT_EQ(GetLease(server, 1).lease().next_floor_ms(), server.NowMs());
}

TEST(AdminServiceTest, NamespaceInUseIsNotDeleted) {
  RpcTestServer server;
  server.Claim("orders-1");
  v1::DeleteNamespaceRequest request;
  request.set_name("orders");
  request.set_reason("cleanup");
  v1::DeleteNamespaceResponse response;
  const grpc::Status status = Call(server, &Stub::DeleteNamespace, request, &response);
  EXPECT_EQ(ReasonOf(status), "NAMESPACE_NOT_EMPTY");
  server.clock().Advance(Millis(300'000));
  EXPECT_TRUE(Call(server, &Stub::DeleteNamespace, request, &response).ok());
  EXPECT_EQ(ReasonOf(Call(server, &Stub::DeleteNamespace, request, &response)), "NOT_FOUND");
}

TEST(AdminServiceVersionTest, TheTrailerTellsTheServersVersionAlsoWithAnError) {
  RpcTestOptions options;
  options.grpc.version = "1.2.3";
  options.admin_enabled = false;
  RpcTestServer server(options);
  grpc::ClientContext context;
  v1::ListNamespacesResponse response;
  EXPECT_EQ(server.admin().ListNamespaces(&context, {}, &response).error_code(),
            grpc::PERMISSION_DENIED);
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto version = trailers.find("snowlease-version");
  ASSERT_NE(version, trailers.end());
  EXPECT_EQ(std::string(version->second.data(), version->second.size()), "1.2.3");
}

}  // namespace
}  // namespace snowlease::service
