#include "service/tls/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <fstream>
#include <memory>
#include <stdexcept>

namespace snowlease::service {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

template <typename Write>
std::string PemOf(Write write) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (write(bio.get()) != 1) throw std::runtime_error("OpenSSL could not write PEM");
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(length)};
}

}  // namespace

TestCertificate MakeCertificate(const std::string& name, int hours_from, int hours_to) {
  constexpr long kHour = 3600;
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), hours_from * kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), hours_to * kHour);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  const Owned<X509_EXTENSION> names(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1"));
  X509_add_ext(certificate.get(), names.get(), -1);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  return {PemOf([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); }),
          PemOf([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

std::string Encrypted(const std::string& key) {
  const Owned<BIO> in(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  const Owned<EVP_PKEY> parsed(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  return PemOf([&](BIO* bio) {
    constexpr unsigned char kPassphrase[] = "secret";
    return PEM_write_bio_PrivateKey(bio, parsed.get(), EVP_aes_128_cbc(), kPassphrase, 6, nullptr,
                                    nullptr);
  });
}

TestCertificateFolder::TestCertificateFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "snowlease-tls-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

TestCertificateFolder::~TestCertificateFolder() { std::filesystem::remove_all(folder_); }

void TestCertificateFolder::Write(const TestCertificate& pair) const {
  WriteCertificate(pair.certificate);
  WriteKey(pair.key);
}

Config::Grpc::Tls TestCertificateFolder::settings() const {
  Config::Grpc::Tls files{(folder_ / "tls.crt").string(), (folder_ / "tls.key").string(), ""};
  if (std::filesystem::exists(folder_ / "ca.crt")) {
    files.client_ca_file = (folder_ / "ca.crt").string();
  }
  return files;
}

void TestCertificateFolder::Write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

}  // namespace snowlease::service
