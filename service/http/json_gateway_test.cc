#include "service/http/json_gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "service/http/http_status.h"
#include "service/http/http_test_backend.h"
#include "snowlease/v1/admin.pb.h"
#include "snowlease/v1/machine_id.pb.h"
#include "storage/errors.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::service {
namespace {

using snowlease::testing::StoreOperation;
using storage::Millis;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kNow[] = "1750000000000";  // the fake clock's start

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

class JsonGatewayTest : public ::testing::Test {
 protected:
  HttpResponse Post(const std::string& call, const std::string& body) {
    return backend_.gateway.Call("/v1/" + call, body);
  }
  HttpResponse Claim(const std::string& instance, const std::string& incarnation, int bits = 4) {
    return Post("machine-ids:claim",
                Join({"{\"namespace\":\"n\",\"instanceId\":\"", instance, "\",\"incarnationId\":\"",
                      incarnation, "\",\"machineBits\":", std::to_string(bits),
                      ",\"clientTimeMs\":\"", kNow, "\"}"}));
  }

  snowlease::testing::FakeClock clock_;
  HttpTestBackend backend_{&clock_};
};

constexpr char kIncarnation[] = "AAECAwQFBgcICQoLDA0ODw==";
constexpr char kGrant[] =
    "\"namespace\":\"n\",\"machineId\":0,\"instanceId\":\"i\",\"token\":\"1\"";

// F47: calls that wait for a store must not take the threads that answer probes.
TEST_F(JsonGatewayTest, CallsBeyondItsLimitAreRefusedWithTheTimeToComeBack) {
  const JsonGateway full(&backend_.machine_ids, &backend_.admin_handler, &clock_, Millis(5000),
                         /*max_calls=*/0);
  const HttpResponse refused = full.Call("/v1/admin:listNamespaces", "{}");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("OVERLOADED"), HasSubstr("http.threads")));
  EXPECT_EQ(refused.headers.count("Retry-After"), 1u);
}

TEST_F(JsonGatewayTest, ClaimsRenewsRaisesAndReleases) {
  const HttpResponse claimed = Claim("i", kIncarnation);
  EXPECT_EQ(claimed.status, 200);
  EXPECT_THAT(claimed.body, AllOf(HasSubstr("\"machineId\":0"), HasSubstr("\"token\":\"1\""),
                                  HasSubstr("\"source\":\"LEASE_SOURCE_NEW\"")));
  const HttpResponse renewed =
      Post("machine-ids:renew",
           Join({"{", kGrant, ",\"lastTimestampMs\":", kNow, ",\"clientTimeMs\":", kNow, "}"}));
  EXPECT_EQ(renewed.status, 200) << renewed.body;
  // 64-bit numbers are strings (F41).
  EXPECT_THAT(renewed.body, HasSubstr(Join({"\"watermarkMs\":\"", kNow, "\""})));
  const HttpResponse raised =
      Post("machine-ids:watermark",
           "{\"namespace\":\"n\",\"machine_id\":0,\"raise\":{\"instanceId\":\"i\",\"token\":1,"
           "\"raiseToMs\":\"1750000000001\"}}");
  EXPECT_THAT(raised.body, HasSubstr("\"watermarkMs\":\"1750000000001\""));
  EXPECT_EQ(Post("machine-ids:release", Join({"{", kGrant, "}"})).body, "{}");
  const HttpResponse late =
      Post("machine-ids:renew", Join({"{", kGrant, ",\"clientTimeMs\":", kNow, "}"}));
  EXPECT_THAT(late.body, HasSubstr("\"cause\":\"RELEASED\""));
}

TEST_F(JsonGatewayTest, FaultsOfTheBodyAreToldInWords) {
  for (const auto& [body, text] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {"[]", "ClaimRequest"},
           {"{\"namespace\":\"n\"", "ClaimRequest"},
           {"{\"machineBit\":4}", "machineBit"},
           {"{\"machineBits\":\"many\"}", "machineBits"},
           {"{\"incarnationId\":\"*\"}", "incarnationId"},
           {"{\"namespace\":\"\xFF\"}", "ClaimRequest"}}) {
    const HttpResponse refused = Post("machine-ids:claim", body);
    EXPECT_EQ(refused.status, 400) << body;
    EXPECT_THAT(refused.body, AllOf(HasSubstr("\"reason\":\"INVALID_ARGUMENT\""), HasSubstr(text)))
        << body;
  }
}

TEST_F(JsonGatewayTest, ValueOfTheWrongTypeIsToldWithItsField) {
  EXPECT_THAT(Post("machine-ids:claim", "{\"proof\":{\"reservedUntilMs\":\"soon\"}}").body,
              AllOf(HasSubstr("\"field\":\"proof.reserved_until_ms\""),
                    HasSubstr("proof.reservedUntilMs: invalid value")));
}

TEST_F(JsonGatewayTest, AllViolatedFieldsAreToldAtOnce) {
  EXPECT_THAT(Post("machine-ids:claim", "{}").body,
              AllOf(HasSubstr("\"field\":\"namespace\""), HasSubstr("\"field\":\"instance_id\""),
                    HasSubstr("\"field\":\"machine_bits\"")));
}

TEST_F(JsonGatewayTest, DomainErrorsKeepTheirReasonAndMetadata) {
  Claim("i", kIncarnation, 1);
  Claim("j", "AAAAAAAAAAAAAAAAAAAAAA==", 1);
  const HttpResponse full = Claim("k", "BAAAAAAAAAAAAAAAAAAAAA==", 1);
  EXPECT_EQ(full.status, 429);
  EXPECT_THAT(full.body, AllOf(HasSubstr("MACHINE_ID_OVERFLOW"), HasSubstr("\"held\":\"2\"")));
  const HttpResponse lost =
      Post("machine-ids:renew",
           Join({"{\"namespace\":\"n\",\"machineId\":0,\"instanceId\":\"x\",\"token\":\"1\",",
                 "\"clientTimeMs\":", kNow, "}"}));
  EXPECT_EQ(lost.status, 400);
  EXPECT_THAT(lost.body, AllOf(HasSubstr("MACHINE_ID_LOST"), HasSubstr("\"cause\":")));
}

TEST_F(JsonGatewayTest, StoreFailuresAreServiceUnavailable) {
  backend_.store.FailNext(StoreOperation::kClaim, 1, storage::StoreUnavailableError("disk full"));
  const HttpResponse failed = Claim("i", kIncarnation);
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, HasSubstr("STORE_UNAVAILABLE"));
  backend_.committer.Drain();
  const HttpResponse draining = Claim("i", kIncarnation);
  EXPECT_EQ(draining.status, 503);
  EXPECT_THAT(draining.body, HasSubstr("DRAINING"));
}

TEST_F(JsonGatewayTest, StoreThatHangsIsNotWaitedForForever) {
  backend_.store.Block(StoreOperation::kClaim);
  std::atomic<bool> answered = false;
  HttpResponse response;
  std::thread caller([&] {
    response = Claim("i", kIncarnation);
    answered = true;
  });
  ASSERT_TRUE(backend_.store.AwaitBlocked(StoreOperation::kClaim, 1));
  while (!answered) {
    clock_.Advance(Millis(1000));
    std::this_thread::yield();
  }
  caller.join();
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("STORE_TIMEOUT"));
  backend_.store.Unblock(StoreOperation::kClaim);
}

TEST_F(JsonGatewayTest, EveryRpcOfBothServicesHasAPath) {
  const auto* admin = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "snowlease.v1.AdminService");
  const auto* machine_ids = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "snowlease.v1.MachineIdService");
  ASSERT_TRUE(v1::ClaimRequest::descriptor() != nullptr && admin != nullptr);
  for (const auto& [service, prefix] :
       {std::pair(machine_ids, "/v1/machine-ids:"), std::pair(admin, "/v1/admin:")}) {
    for (int i = 0; i < service->method_count(); ++i) {
      if (service->method(i)->client_streaming()) continue;
      std::string name = service->method(i)->name();
      name[0] = static_cast<char>(std::tolower(name[0]));
      EXPECT_TRUE(backend_.gateway.Has(prefix + name)) << name;
    }
  }
}

TEST_F(JsonGatewayTest, OperatorsCallsWorkOnlyWhereTheyAreEnabled) {
  Claim("i", kIncarnation);
  const HttpResponse listed = Post("admin:listNamespaces", "{}");
  EXPECT_EQ(listed.status, 200);
  EXPECT_THAT(listed.body, HasSubstr("\"held\":\"1\""));
  EXPECT_EQ(Post("admin:getNamespace", "{\"name\":\"none\"}").status, 404);

  HttpTestBackend without(&clock_, /*admin=*/false);
  const HttpResponse refused = without.gateway.Call("/v1/admin:listNamespaces", "{}");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("ADMIN_DISABLED"));
}

TEST(HttpStatusTest, OverloadSaysWhenToComeBack) {
  const HttpResponse response = ErrorResponse(storage::OverloadedError("full", Millis(1200)));
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.at("Retry-After"), "2");
  EXPECT_EQ(ErrorResponse(storage::NotFoundError("x")).headers.count("Retry-After"), 0u);
}

}  // namespace
}  // namespace snowlease::service
