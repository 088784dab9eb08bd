#include "service/rpc/tls_credentials.h"

#include <gtest/gtest.h>

#include "service/rpc/rpc_test_server.h"
#include "service/tls/test_certificates.h"

// Real handshakes with a server in this process.

namespace snowlease::service {
namespace {

constexpr int kAnswers = 2;  // NOT_SERVING is an answer
constexpr int kNoHandshake = -grpc::UNAVAILABLE;

class TlsServerTest : public ::testing::Test {
 protected:
  void Start() {
    auto files = CertificateFiles::Open(folder_.settings(), storage::Clock::Real());
    ASSERT_TRUE(files.ok()) << files.status();
    files_ = *std::move(files);
    RpcTestOptions options;
    options.grpc.credentials = ReloadingTlsCredentials(files_.get());
    server_ = std::make_unique<RpcTestServer>(options);
  }

  std::shared_ptr<grpc::Channel> Channel(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(server_->address(), credentials, arguments);
  }
  // One that trusts that certificate alone.
  std::shared_ptr<grpc::Channel> Trusting(const TestCertificate& server,
                                          const TestCertificate& own = {}) const {
    return Channel(grpc::SslCredentials({server.certificate, own.key, own.certificate}));
  }

  TestCertificateFolder folder_;
  const TestCertificate first_ = MakeCertificate("first");
  const TestCertificate second_ = MakeCertificate("second");
  std::unique_ptr<CertificateFiles> files_;  // outlives the server
  std::unique_ptr<RpcTestServer> server_;
};

// F50
TEST_F(TlsServerTest, NewHandshakesUseThePairOnDiskAndOpenStreamsLiveOn) {
  folder_.Write(first_);
  Start();
  const auto old_channel = Trusting(first_);
  grpc::ClientContext context;
  const auto stub = v1::MachineIdService::NewStub(old_channel);
  const auto stream = stub->KeepAlive(&context);
  v1::KeepAliveRequest request;
  request.add_renewals();
  v1::KeepAliveResponse response;
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));

  folder_.WriteCertificate(second_.certificate);
  EXPECT_EQ(HealthOf(Trusting(first_), ""), kAnswers) << "the pair is torn, the old one stays";
  EXPECT_EQ(HealthOf(Trusting(second_), ""), kNoHandshake);
  folder_.WriteKey(second_.key);
  EXPECT_EQ(HealthOf(Trusting(second_), ""), kAnswers);
  EXPECT_EQ(HealthOf(Trusting(first_), ""), kNoHandshake);

  ASSERT_TRUE(stream->Write(request));
  EXPECT_TRUE(stream->Read(&response)) << "the stream from before was cut";
  EXPECT_EQ(HealthOf(old_channel, ""), kAnswers);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(TlsServerTest, PlaintextAndOtherNamesAreRefused) {
  folder_.Write(first_);
  Start();
  EXPECT_EQ(HealthOf(server_->NewChannel(), ""), kNoHandshake);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("other.example");
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto misnamed = grpc::CreateCustomChannel(
      server_->address(), grpc::SslCredentials({first_.certificate, "", ""}), arguments);
  EXPECT_EQ(HealthOf(misnamed, ""), kNoHandshake);
}

TEST_F(TlsServerTest, ClientsNeedACertificateOfTheClientCaAlsoOfOneThatWasSwapped) {
  const TestCertificate client = MakeCertificate("client");
  const TestCertificate stranger = MakeCertificate("stranger");
  folder_.Write(first_);
  folder_.WriteClientCa(client.certificate);
  Start();
  EXPECT_EQ(HealthOf(Trusting(first_), ""), kNoHandshake);
  EXPECT_EQ(HealthOf(Trusting(first_, stranger), ""), kNoHandshake);
  EXPECT_EQ(HealthOf(Trusting(first_, client), ""), kAnswers);
  folder_.WriteClientCa(stranger.certificate);
  EXPECT_EQ(HealthOf(Trusting(first_, client), ""), kNoHandshake);
  EXPECT_EQ(HealthOf(Trusting(first_, stranger), ""), kAnswers);
}

TEST_F(TlsServerTest, ProbeOfTheOwnServerNeedsNoTrust) {
  folder_.Write(first_);
  Start();
  EXPECT_EQ(HealthOf(Channel(TrustingTlsCredentials({second_.certificate, second_.key, ""})), ""),
            kAnswers);
}

}  // namespace
}  // namespace snowlease::service
