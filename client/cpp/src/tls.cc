#include "client/cpp/src/tls.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace snowlease::client {
namespace {

absl::Status ReadPem(const char* option, const std::string& path, std::string* text) {
  if (path.empty()) return absl::OkStatus();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  *text = contents.str();
  if (!file.is_open()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": ", path, " cannot be read; check the path and its rights"));
  }
  // gRPC takes what is no PEM without a word, and then no connection comes about.
  if (text->find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", path, " is no PEM file"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ClientOptions& options) {
  if (options.credentials) return options.credentials;
  if (!options.tls) return grpc::InsecureChannelCredentials();
  const TlsOptions& tls = *options.tls;
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    return absl::InvalidArgumentError(
        "tls.cert_file and tls.key_file belong together: give both or none");
  }
  grpc::SslCredentialsOptions ssl;
  for (const absl::Status& read : {ReadPem("tls.ca_file", tls.ca_file, &ssl.pem_root_certs),
                                   ReadPem("tls.cert_file", tls.cert_file, &ssl.pem_cert_chain),
                                   ReadPem("tls.key_file", tls.key_file, &ssl.pem_private_key)}) {
    if (!read.ok()) return read;
  }
  return grpc::SslCredentials(ssl);
}

}  // namespace snowlease::client
