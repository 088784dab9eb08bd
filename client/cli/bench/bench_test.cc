#include <regex>

#include "client/cli/cli_run_for_tests.h"
#include "client/cpp/src/scripted_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace snowlease::cli {
namespace {

using ::testing::HasSubstr;

// A server that hands out ids and knows what is held.
class Holder final : public v1::MachineIdService::Service {
 public:
  Holder() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  grpc::Status Claim(grpc::ServerContext*, const v1::ClaimRequest*,
                     v1::ClaimResponse* response) override {
    if (++claims % 7 == 0)
      return client::ToGrpc(client::ErrorWith(grpc::UNAVAILABLE, "OVERLOADED"));
    ++held;
    response->mutable_lease()->set_machine_id(3);
    response->mutable_lease()->set_token(static_cast<uint64_t>(++tokens));
    return grpc::Status::OK;
  }

  grpc::Status Renew(grpc::ServerContext*, const v1::RenewRequest* request,
                     v1::RenewResponse*) override {
    if (request->token() == 0) return {grpc::INVALID_ARGUMENT, "token"};
    if (++renewals % 10 == 0) {
      return client::ToGrpc(client::ErrorWith(grpc::UNAVAILABLE, "OVERLOADED"));
    }
    return grpc::Status::OK;
  }

  grpc::Status Release(grpc::ServerContext*, const v1::ReleaseRequest*,
                       v1::ReleaseResponse*) override {
    --held;
    if (++releases % 5 == 0) {
      return client::ToGrpc(
          client::ErrorWith(grpc::FAILED_PRECONDITION, "MACHINE_ID_LOST", {{"cause", "REVOKED"}}));
    }
    return grpc::Status::OK;
  }

  grpc::Status KeepAlive(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::KeepAliveResponse, v1::KeepAliveRequest>* stream) override {
    v1::KeepAliveRequest request;
    while (stream->Read(&request)) {
      v1::KeepAliveResponse response;
      for (const auto& renewal : request.renewals()) {
        auto* result = response.add_results();
        result->set_tag(renewal.tag());
        result->mutable_lease();
      }
      largest = std::max<int>(largest, request.renewals_size());
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

  CliRun Bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), {"--server", "127.0.0.1:" + std::to_string(port_), "--leases",
                                       "50", "--outstanding", "8", "--channels", "2", "--duration",
                                       "300ms", "-o", "json"});
    return RunWith(arguments);
  }

  std::atomic<int> claims{0}, tokens{0}, held{0}, renewals{0}, releases{0}, largest{0};

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

double Field(const std::string& json, const std::string& name) {
  std::smatch match;
  if (!std::regex_search(json, match, std::regex("\"" + name + "\": ([0-9.e+]+)"))) return -1;
  return std::stod(match[1]);
}

TEST(BenchTest, RenewMeasuresCountsErrorsAndReleases) {
  Holder server;
  const CliRun run = server.Bench({"renew", "--warmup", "50ms"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_GT(Field(run.out, "operations"), 10);
  EXPECT_GT(Field(run.out, "OVERLOADED"), 0);
  EXPECT_NEAR(Field(run.out, "per_second"),
              Field(run.out, "operations") / Field(run.out, "seconds"), 1);
  EXPECT_GT(Field(run.out, "p50_us"), 0);
  EXPECT_LE(Field(run.out, "p50_us"), Field(run.out, "p99_us"));
  EXPECT_LE(Field(run.out, "p99_us"), Field(run.out, "max_us"));
  EXPECT_GT(Field(run.out, "client_cpu_us_per_operation"), 0);
  EXPECT_EQ(server.tokens, 50);
  EXPECT_EQ(server.held, 0);
}

TEST(BenchTest, KeepAliveSendsSeveralRenewalsInAMessage) {
  Holder server;
  const CliRun run = server.Bench({"keepalive", "--warmup", "0", "--messages", "4"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GT(Field(run.out, "operations"), 10);
  EXPECT_THAT(run.out, HasSubstr("\"errors\": {}"));
  EXPECT_EQ(server.largest, 4);
  EXPECT_EQ(server.held, 0);
}

TEST(BenchTest, ClaimReleasesAllThatItTook) {
  Holder server;
  const CliRun run = server.Bench({"claim"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GT(Field(run.out, "operations"), 50) << "more than one turn";
  EXPECT_EQ(server.held, 0);
}

TEST(BenchTest, ErrorThatNoRetryMendsEndsIt) {
  client::ScriptedServer server;
  server.Then([](grpc::ServerContext*) {
    return client::ToGrpc(client::ErrorWith(grpc::FAILED_PRECONDITION, "NAMESPACE_POLICY"));
  });
  const CliRun run = RunWith({"bench", "renew", "--server", server.address(), "--leases", "1",
                              "--outstanding", "1", "--channels", "1"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("NAMESPACE_POLICY"));
}

}  // namespace
}  // namespace snowlease::cli
