#include "service/http/http_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/http/http_test_backend.h"
#include "storage/errors.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::service {
namespace {

using ::testing::HasSubstr;

HttpRequest Get(const std::string& path) { return {"GET", path, {{"host", "localhost"}}, ""}; }

HttpRequest Post(std::multimap<std::string, std::string> headers = {}) {
  HttpRequest request{"POST", "/v1/machine-ids:claim", std::move(headers), ""};
  if (request.headers.count("host") == 0) request.headers.emplace("host", "127.0.0.1:7071");
  if (request.headers.count("content-length") == 0) request.headers.emplace("content-length", "2");
  if (request.headers.count("content-type") == 0) {
    request.headers.emplace("content-type", "application/json");
  }
  return request;
}

int Status(const HttpRequest& request, const GuardOptions& options = {}) {
  const std::optional<HttpResponse> refusal = RefusalOf(request, options);
  return refusal ? refusal->status : 200;
}

TEST(RequestGuardTest, LetsOrdinaryRequestsThrough) {
  EXPECT_EQ(Status(Post()), 200);
  EXPECT_EQ(Status(Post({{"content-type", "Application/JSON; charset=utf-8"}})), 200);
  EXPECT_EQ(Status(Post({{"content-length", "65536"}})), 200);
  EXPECT_EQ(Status(Get("/metrics")), 200);
}

TEST(RequestGuardTest, RefusesForeignOrigins) {
  EXPECT_EQ(Status(Post({{"origin", "http://evil.example"}})), 403);
  EXPECT_EQ(Status(Post({{"origin", "null"}})), 403);
  EXPECT_EQ(Status(Post({{"origin", "http://127.0.0.1:7071"}, {"origin", "http://evil"}})), 403);
  EXPECT_EQ(Status(Post({{"sec-fetch-site", "cross-site"}})), 403);
  EXPECT_EQ(Status(Post({{"origin", "http://127.0.0.1:7071"}})), 200);
}

TEST(RequestGuardTest, RefusesHostNamesThatCouldBeRebound) {
  for (const char* host : {"evil.example", "evil.example:7071", "127.0.0.1.evil.example", ""}) {
    EXPECT_EQ(Status(Post({{"host", host}})), 403) << host;
  }
  EXPECT_EQ(Status(Post({{"host", "localhost"}, {"host", "localhost"}})), 400);
  for (const char* host : {"LOCALHOST:7071", "127.0.0.1", "[::1]:7071", "10.1.2.3:7071"}) {
    EXPECT_EQ(Status(Post({{"host", host}})), 200) << host;
  }
}

TEST(RequestGuardTest, AllowedHostsAreTheOnlyNamesWhereTheyAreGiven) {
  GuardOptions options;
  options.allowed_hosts = {"Leases.example"};
  EXPECT_EQ(Status(Post({{"host", "leases.example:80"}}), options), 200);
  options.loopback = false;
  EXPECT_EQ(Status(Post({{"host", "leases.example:80"}}), options), 200);
  EXPECT_EQ(Status(Post({{"host", "other.example"}}), options), 403);
  options.allowed_hosts.clear();
  EXPECT_EQ(Status(Post({{"host", "other.example"}}), options), 200);
}

TEST(RequestGuardTest, RefusesBodiesThatAreNotWorthReading) {
  EXPECT_EQ(Status(Post({{"content-type", "text/plain"}})), 415);
  EXPECT_EQ(Status(Post({{"content-encoding", "gzip"}})), 415);
  EXPECT_EQ(Status(Post({{"content-length", "65537"}})), 413);
  EXPECT_EQ(Status(Post({{"content-length", "99999999999999999999999"}})), 413);
  EXPECT_EQ(Status(Post({{"content-length", "-1"}})), 400);
  EXPECT_EQ(Status(Post({{"content-length", "2"}, {"content-length", "3"}})), 411);
  EXPECT_EQ(Status(Post({{"transfer-encoding", "chunked"}})), 411);
}

class HttpApiTest : public ::testing::Test {
 protected:
  snowlease::testing::FakeClock clock_;
  HttpTestBackend backend_{&clock_};
};

TEST_F(HttpApiTest, UnknownPathsAndWrongMethodsAreRefused) {
  EXPECT_EQ(backend_.api.Refuse(Get("/"))->status, 404);
  EXPECT_EQ(backend_.api.Refuse(Get("/v1/machine-ids:grab"))->status, 404);
  const auto wrong = backend_.api.Refuse(Get("/v1/machine-ids:claim"));
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(wrong->headers.at("Allow"), "POST");
  HttpRequest post = Get("/readyz");
  post.method = "POST";
  EXPECT_EQ(backend_.api.Refuse(post)->headers.at("Allow"), "GET, HEAD");
  EXPECT_FALSE(backend_.api.Refuse(Get("/livez")).has_value());
}

// F47
TEST_F(HttpApiTest, LivenessStaysGoodWhileReadinessFollowsTheStore) {
  EXPECT_EQ(backend_.api.Handle(Get("/readyz")).status, 200);
  for (int i = 0; i < 2; ++i) {
    backend_.readiness.Observe({storage::StoreUnavailableError("gone"), storage::Millis(0), 0},
                               clock_.SteadyNow());
  }
  const HttpResponse down = backend_.api.Handle(Get("/readyz"));
  EXPECT_EQ(down.status, 503);
  EXPECT_THAT(down.body, HasSubstr("\"component\":\"store\",\"ok\":false"));
  EXPECT_EQ(backend_.api.Handle(Get("/livez")).status, 200);
  backend_.readiness.Observe({absl::OkStatus(), storage::Millis(0), 1}, clock_.SteadyNow());
  EXPECT_EQ(backend_.api.Handle(Get("/readyz")).status, 200);
}

TEST_F(HttpApiTest, MetricsCostTheStoreNothing) {
  const HttpResponse metrics = backend_.api.Handle(Get("/metrics"));
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(metrics.body, HasSubstr("snowlease_build_info{version=\"0.0.0\"} 1"));
  EXPECT_EQ(backend_.store.Calls(snowlease::testing::StoreOperation::kRead), 0);
}

}  // namespace
}  // namespace snowlease::service
