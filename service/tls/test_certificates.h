#pragma once

#include <filesystem>
#include <string>

#include "service/config/config.h"
#include "storage/time_point.h"

namespace snowlease::service {

// A certificate that is signed by its own key, for localhost and 127.0.0.1, and that
// key; who trusts the certificate trusts nobody else.
struct TestCertificate {
  std::string certificate;
  std::string key;
};
// Valid from `hours_from` to `hours_to` hours after the host's present time.
TestCertificate MakeCertificate(const std::string& name, int hours_from, int hours_to);
inline TestCertificate MakeCertificate(const std::string& name) {
  return MakeCertificate(name, -1, 24);
}
// The key as PEM under a passphrase.
std::string Encrypted(const std::string& key);

// A folder with the three files, gone with the object.
class TestCertificateFolder {
 public:
  TestCertificateFolder();
  ~TestCertificateFolder();

  void WriteCertificate(const std::string& text) const { Write("tls.crt", text); }
  void WriteKey(const std::string& text) const { Write("tls.key", text); }
  void WriteClientCa(const std::string& text) const { Write("ca.crt", text); }
  void Write(const TestCertificate& pair) const;
  // Names them; that of the client CA only when it is there.
  Config::Grpc::Tls settings() const;

 private:
  void Write(const std::string& name, const std::string& text) const;

  std::filesystem::path folder_;
};

}  // namespace snowlease::service
