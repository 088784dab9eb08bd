#pragma once

#include <memory>

#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "service/tls/certificate_files.h"

namespace snowlease::service {

// TLS for a gRPC port: every handshake asks `files` for the pair, connections that
// stand keep theirs. For one server; `files` must outlive that server.
std::shared_ptr<grpc::ServerCredentials> ReloadingTlsCredentials(CertificateFiles* files);

// For a probe of the server on this host with the pair of `pem`: trusts whatever
// answers.
std::shared_ptr<grpc::ChannelCredentials> TrustingTlsCredentials(const CertificatePem& pem);

}  // namespace snowlease::service
