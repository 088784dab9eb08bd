#include "service/server/health_probe.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "service/rpc/tls_credentials.h"

namespace snowlease::service {
namespace {

// HealthCheckResponse { status = SERVING } and an empty HealthCheckRequest on the wire;
// Debian's gRPC does not install their generated classes.
constexpr char kServing[] = {0x08, 0x01};

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

absl::Status ProbeHealth(const ListenAddress& address, storage::Millis timeout,
                         const Config::Grpc::Tls& tls) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (tls.enabled()) {
    const auto pem = ReadCertificateFiles(tls);
    if (!pem.ok()) return pem.status();
    credentials = TrustingTlsCredentials(*pem);
  }
  ListenAddress target = address;
  if (address.IsWildcard()) target.host = address.host == "::" ? "::1" : "127.0.0.1";
  const auto channel = grpc::CreateChannel(target.ToString(), credentials);
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  // A span, which gRPC counts from now.
  context.set_deadline(gpr_time_from_millis(timeout.count(), GPR_TIMESPAN));
  const grpc::Slice empty(std::string{});
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) {
    return absl::UnavailableError(target.ToString() + ": " + status.error_message());
  }
  if (BytesOf(response) != std::string(kServing, sizeof(kServing))) {
    return absl::UnavailableError(target.ToString() + " is not serving");
  }
  return absl::OkStatus();
}

}  // namespace snowlease::service
