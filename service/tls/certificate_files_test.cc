#include "service/tls/certificate_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/tls/test_certificates.h"
#include "storage/errors.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

storage::HostTime RealNow() { return storage::Clock::Real()->Now(); }

std::string ProblemOf(const CertificatePem& pem) {
  const auto pair = CheckPair(pem, RealNow());
  return pair.ok() ? "none" : std::string(pair.status().message());
}

TEST(CertificatePairTest, PairThatBelongsTogetherIsDescribed) {
  const TestCertificate made = MakeCertificate("orders.example", -1, 48);
  const auto pair = CheckPair({made.certificate, made.key, ""}, RealNow());
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->subject, "CN=orders.example");
  EXPECT_NEAR(static_cast<double>(pair->expires.ms - RealNow().ms), 48 * 3'600'000, 60'000);
}

TEST(CertificatePairTest, ChainExpiresWithItsFirst) {
  const TestCertificate leaf = MakeCertificate("leaf", -1, 48);
  const TestCertificate signer = MakeCertificate("signer", -1, 12);
  const auto pair = CheckPair({leaf.certificate + signer.certificate, leaf.key, ""}, RealNow());
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->subject, "CN=leaf");
  EXPECT_NEAR(static_cast<double>(pair->expires.ms - RealNow().ms), 12 * 3'600'000, 60'000);
}

TEST(CertificatePairTest, EachFaultIsToldInWords) {
  const TestCertificate good = MakeCertificate("a");
  const TestCertificate other = MakeCertificate("b");
  const TestCertificate expired = MakeCertificate("old", -48, -24);
  const TestCertificate future = MakeCertificate("new", 24, 48);
  const std::string half = good.certificate.substr(0, good.certificate.size() / 2);
  EXPECT_EQ(ProblemOf({good.certificate, good.key, other.certificate}), "none");
  EXPECT_THAT(ProblemOf({"", good.key, ""}), HasSubstr("no certificate in PEM"));
  EXPECT_THAT(ProblemOf({half, good.key, ""}), HasSubstr("no certificate in PEM"));
  EXPECT_THAT(ProblemOf({good.certificate + half, good.key, ""}), HasSubstr("no certificate"));
  EXPECT_THAT(ProblemOf({good.certificate, "", ""}), HasSubstr("no private key in PEM"));
  EXPECT_THAT(ProblemOf({good.certificate, Encrypted(good.key), ""}), HasSubstr("passphrase"));
  EXPECT_THAT(ProblemOf({good.certificate, other.key, ""}),
              HasSubstr("not that of the certificate"));
  EXPECT_THAT(ProblemOf({good.certificate, good.key, "nobody"}), HasSubstr("client CA"));
  EXPECT_THAT(ProblemOf({expired.certificate, expired.key, ""}),
              AllOf(HasSubstr("CN=old"), HasSubstr("expired at 20")));
  EXPECT_THAT(ProblemOf({future.certificate, future.key, ""}), HasSubstr("valid only from 20"));
}

class CertificateFilesTest : public ::testing::Test {
 protected:
  CertificateFilesTest() : clock_(RealNow()) { folder_.Write(first_); }

  std::unique_ptr<CertificateFiles> Open() {
    auto files = CertificateFiles::Open(folder_.settings(), &clock_);
    EXPECT_TRUE(files.ok()) << files.status();
    return *std::move(files);
  }

  snowlease::testing::FakeClock clock_;
  TestCertificateFolder folder_;
  const TestCertificate first_ = MakeCertificate("first");
  const TestCertificate second_ = MakeCertificate("second", -1, 48);
};

// F50
TEST_F(CertificateFilesTest, TornPairLeavesTheOldOneInUseUntilBothAreThere) {
  const auto files = Open();
  folder_.WriteCertificate(second_.certificate);
  EXPECT_EQ(files->Refresh()->subject, "CN=first");
  folder_.WriteKey("");
  EXPECT_EQ(files->Refresh()->subject, "CN=first");
  folder_.WriteKey(second_.key.substr(0, 40));
  EXPECT_EQ(files->Refresh()->subject, "CN=first");
  folder_.WriteKey(second_.key);
  EXPECT_EQ(files->Refresh()->subject, "CN=second");
}

TEST_F(CertificateFilesTest, HandshakesTakeEachPairOnce) {
  const auto files = Open();
  ASSERT_NE(files->TakeForHandshake(), nullptr);
  EXPECT_EQ(files->TakeForHandshake(), nullptr);
  folder_.Write(second_);
  EXPECT_EQ(files->Refresh()->subject, "CN=second");
  ASSERT_NE(files->TakeForHandshake(), nullptr);
  EXPECT_EQ(files->TakeForHandshake(), nullptr);
}

TEST_F(CertificateFilesTest, ExpiredPairIsNotTaken) {
  const auto files = Open();
  folder_.Write(MakeCertificate("old", -48, -24));
  EXPECT_EQ(files->Refresh()->subject, "CN=first");
  clock_.Advance(storage::Millis(30 * 3'600'000));
  // It has expired as well by now, but there is no better one.
  EXPECT_EQ(files->Refresh()->subject, "CN=first");
  folder_.Write(second_);
  EXPECT_EQ(files->Refresh()->subject, "CN=second");
}

TEST_F(CertificateFilesTest, FaultsAtStartNameSettingFileAndFix) {
  const auto problem = [&](const Config::Grpc::Tls& files) {
    const auto opened = CertificateFiles::Open(files, &clock_);
    return opened.ok() ? "none" : std::string(opened.status().message());
  };
  Config::Grpc::Tls missing = folder_.settings();
  missing.key_file = "/nowhere/tls.key";
  EXPECT_THAT(problem(missing),
              AllOf(HasSubstr("grpc.tls.key-file"), HasSubstr("/nowhere/tls.key")));
  missing = folder_.settings();
  missing.client_ca_file = "/nowhere/ca.crt";
  EXPECT_THAT(problem(missing), HasSubstr("grpc.tls.client-ca-file"));
  folder_.Write(MakeCertificate("old", -48, -24));
  EXPECT_THAT(problem(folder_.settings()),
              AllOf(HasSubstr("grpc.tls.cert-file"), HasSubstr("tls.crt"), HasSubstr("expired at"),
                    HasSubstr("put a valid pair there")));
}

}  // namespace
}  // namespace snowlease::service
