#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <grpcpp/security/credentials.h>

#include "absl/status/statusor.h"
#include "snowlease/clock.h"
#include "snowlease/errors.h"
#include "snowlease/keep_alive.h"
#include "snowlease/retry_policy.h"
#include "snowlease/v1/admin.pb.h"
#include "snowlease/v1/machine_id.pb.h"

namespace snowlease::client {

// Files are read when the client is made.
struct TlsOptions {
  // Who may sign the server's certificate, PEM; empty: whom this host trusts.
  std::string ca_file{};
  // Name that the server's certificate is for; empty: the host of the endpoint.
  std::string server_name{};
  // The client's own certificate chain and key, PEM, for servers that ask; both or none.
  std::string cert_file{};
  std::string key_file{};
};

struct ClientOptions {
  // host:port, [IPv6]:port. Several take turns, and a retry goes to the next one;
  // a name with several addresses is spread over all of them.
  std::vector<std::string> endpoints{"127.0.0.1:7070"};
  // Of a whole call, all its attempts and waits together.
  std::chrono::milliseconds timeout{10000};
  // Of one attempt, within that.
  std::chrono::milliseconds attempt_timeout{5000};
  RetryOptions retry{};
  // How often an idle connection is probed.
  std::chrono::milliseconds keepalive_time{20000};
  // None: plaintext.
  std::optional<TlsOptions> tls{};
  // In place of those that `tls` describes.
  std::shared_ptr<grpc::ChannelCredentials> credentials{};
  // Put before gRPC's own in the user-agent header.
  std::string user_agent{};
  // Null: the real one. Not owned.
  Clock* clock = nullptr;
};

struct CallOptions {
  // In place of ClientOptions::timeout.
  std::optional<std::chrono::milliseconds> timeout{};
  // Ends the call with CANCELLED.
  std::stop_token stop{};
};

// The raw calls of MachineIdService and AdminService, blocking, with deadlines and
// retries. Every attempt of a call sends the same request (the same token and
// incarnation) and the last attempt's error is returned; errors.h reads it. An
// unreachable server is never reported as a lost lease. Thread-safe; may be used
// by many threads at once; must outlive its calls, not its streams.
class Client {
 public:
  // INVALID_ARGUMENT names the option. Connects at the first call.
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  absl::StatusOr<v1::ClaimResponse> Claim(const v1::ClaimRequest& request,
                                          const CallOptions& options = {});
  absl::StatusOr<v1::RenewResponse> Renew(const v1::RenewRequest& request,
                                          const CallOptions& options = {});
  absl::StatusOr<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request,
                                              const CallOptions& options = {});
  absl::StatusOr<v1::WatermarkResponse> Watermark(const v1::WatermarkRequest& request,
                                                  const CallOptions& options = {});
  // For holders of 16 or more leases.
  std::unique_ptr<KeepAliveStream> OpenKeepAlive(const KeepAliveOptions& options = {});

  absl::StatusOr<v1::ListNamespacesResponse> ListNamespaces(
      const v1::ListNamespacesRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::GetNamespaceResponse> GetNamespace(const v1::GetNamespaceRequest& request,
                                                        const CallOptions& options = {});
  absl::StatusOr<v1::UpdateNamespaceResponse> UpdateNamespace(
      const v1::UpdateNamespaceRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::DeleteNamespaceResponse> DeleteNamespace(
      const v1::DeleteNamespaceRequest& request, const CallOptions& options = {});
  absl::StatusOr<v1::ListLeasesResponse> ListLeases(const v1::ListLeasesRequest& request,
                                                    const CallOptions& options = {});
  absl::StatusOr<v1::GetLeaseResponse> GetLease(const v1::GetLeaseRequest& request,
                                                const CallOptions& options = {});
  absl::StatusOr<v1::ForceReleaseResponse> ForceRelease(const v1::ForceReleaseRequest& request,
                                                        const CallOptions& options = {});
  absl::StatusOr<v1::ReserveIdsResponse> ReserveIds(const v1::ReserveIdsRequest& request,
                                                    const CallOptions& options = {});
  absl::StatusOr<v1::UnreserveIdsResponse> UnreserveIds(const v1::UnreserveIdsRequest& request,
                                                        const CallOptions& options = {});
  absl::StatusOr<v1::FindOwnerResponse> FindOwner(const v1::FindOwnerRequest& request,
                                                  const CallOptions& options = {});

  // Asks the standard health service about `service`, "" = the whole server. OK
  // when it serves; UNAVAILABLE when it does not at the moment; NOT_FOUND for a
  // service that it does not have.
  absl::Status CheckHealth(const std::string& service, const CallOptions& options = {});

  // Version of the server that last answered a call of AdminService, also with an
  // error; empty before the first and for servers that do not tell.
  std::string server_version() const;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// 16 random bytes: a new one for every grant wanted.
std::string NewIncarnationId();
// {host}:{pid}:{random}, with the host's first usable address; what an instance
// that is not stable is called by default.
std::string DefaultInstanceId();

}  // namespace snowlease::client
