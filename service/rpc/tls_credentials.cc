#include "service/rpc/tls_credentials.h"

#include "grpc/grpc.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"

namespace snowlease::service {
namespace {

// grpc++ has no door to the core's fetcher; its FileWatcherCertificateProvider fails all
// handshakes while certificate and key on disk do not match.
class FetchingCredentials final : public grpc::ServerCredentials {
 public:
  explicit FetchingCredentials(CertificateFiles* files)
      : credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                files->asks_clients() ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                      : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                &Fetch, files))) {}
  ~FetchingCredentials() override { grpc_server_credentials_release(credentials_); }
  FetchingCredentials(const FetchingCredentials&) = delete;
  FetchingCredentials& operator=(const FetchingCredentials&) = delete;

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* user_data, grpc_ssl_server_certificate_config** config);

  grpc_server_credentials* const credentials_;
};

grpc_ssl_certificate_config_reload_status FetchingCredentials::Fetch(
    void* user_data, grpc_ssl_server_certificate_config** config) {
  auto* const files = static_cast<CertificateFiles*>(user_data);
  const std::shared_ptr<const CertificatePair> pair = files->TakeForHandshake();
  if (pair == nullptr) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const CertificatePem& pem = pair->pem;
  const grpc_ssl_pem_key_cert_pair key_cert{pem.key.c_str(), pem.chain.c_str()};
  // The core insists on roots, also where it asks no client for a certificate.
  const std::string& roots = files->asks_clients() ? pem.client_ca : pem.chain;
  *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &key_cert, 1);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> ReloadingTlsCredentials(CertificateFiles* files) {
  return std::make_shared<FetchingCredentials>(files);
}

std::shared_ptr<grpc::ChannelCredentials> TrustingTlsCredentials(const CertificatePem& pem) {
  using namespace grpc::experimental;  // NOLINT(google-build-using-namespace): all of it is
  TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<StaticDataCertificateProvider>(
      pem.chain, std::vector<IdentityKeyCertPair>{{pem.key, pem.chain}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<NoOpCertificateVerifier>());
  return TlsCredentials(options);
}

}  // namespace snowlease::service
