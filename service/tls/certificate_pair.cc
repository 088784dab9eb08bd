#include "service/tls/certificate_pair.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace snowlease::service {
namespace {

using storage::HostTime;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Owned<BIO> Memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without this OpenSSL would ask the terminal for the passphrase of a key.
int NoPassphrase(char*, int, int, void*) { return -1; }

// All certificates of the text; none when one of them cannot be read.
std::vector<Owned<X509>> ReadCertificates(const std::string& text) {
  std::vector<Owned<X509>> certificates;
  const Owned<BIO> bio = Memory(text);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // That nothing more begins is the only good end.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) certificates.clear();
  return certificates;
}

HostTime TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return HostTime{0};
  return HostTime{static_cast<int64_t>(timegm(&parts)) * 1000};
}

std::string SubjectOf(X509* certificate) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(length)};
}

absl::Status Fault(const std::string& what) { return absl::InvalidArgumentError(what); }

}  // namespace

absl::StatusOr<CertificatePair> CheckPair(CertificatePem pem, HostTime now) {
  const std::vector<Owned<X509>> chain = ReadCertificates(pem.chain);
  if (chain.empty()) return Fault("the certificate file holds no certificate in PEM format");
  const Owned<BIO> key_bio = Memory(pem.key);
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return Fault("the key file holds no private key in PEM format, or one with a passphrase");
  }
  const bool matches = X509_check_private_key(chain[0].get(), key.get()) == 1;
  ERR_clear_error();
  if (!matches) return Fault("the private key is not that of the certificate");
  if (!pem.client_ca.empty() && ReadCertificates(pem.client_ca).empty()) {
    return Fault("the client CA file holds no certificate in PEM format");
  }
  CertificatePair pair;
  pair.subject = SubjectOf(chain[0].get());
  pair.expires = TimeOf(X509_get0_notAfter(chain[0].get()));
  HostTime begins = TimeOf(X509_get0_notBefore(chain[0].get()));
  for (const Owned<X509>& certificate : chain) {
    pair.expires = std::min(pair.expires, TimeOf(X509_get0_notAfter(certificate.get())));
    begins = std::max(begins, TimeOf(X509_get0_notBefore(certificate.get())));
  }
  if (pair.expires <= now) {
    return Fault("the certificate (" + pair.subject + ") expired at " + UtcText(pair.expires));
  }
  if (begins > now) {
    return Fault("the certificate (" + pair.subject + ") is valid only from " + UtcText(begins));
  }
  pair.pem = std::move(pem);
  return pair;
}

std::string UtcText(HostTime time) {
  const auto seconds = static_cast<std::time_t>(time.ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace snowlease::service
