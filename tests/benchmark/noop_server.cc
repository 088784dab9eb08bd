// Answers every call of MachineIdService at once with a canned lease: what gRPC alone
// costs for messages of the real sizes. The benchmarks compare the real server with it.
//   snowlease-noop-server [HOST:PORT]   default 127.0.0.1:0; prints the address it got

#include <csignal>
#include <cstdio>
#include <string>

#include "grpcpp/grpcpp.h"
#include "snowlease/v1/machine_id.grpc.pb.h"

namespace snowlease {
namespace {

constexpr int64_t kSomeTimeMs = 1'760'000'000'000;
constexpr int64_t kSafeGuardSeconds = 300;

void FillLease(const std::string& name_space, uint32_t machine_id, const std::string& instance_id,
               uint64_t token, v1::Lease& lease) {
  lease.set_namespace_(name_space);
  lease.set_machine_id(machine_id);
  lease.set_instance_id(instance_id);
  lease.set_token(token);
  lease.set_source(v1::LEASE_SOURCE_NEW);
  lease.set_floor_ms(kSomeTimeMs);
  lease.set_window_end_ms(kSomeTimeMs + 290'000);
  lease.set_watermark_ms(kSomeTimeMs);
  lease.mutable_safe_guard_duration()->set_seconds(kSafeGuardSeconds);
  lease.set_store_id("0123456789abcdef0123456789abcdef");
  lease.set_store_time_ms(kSomeTimeMs);
  lease.set_expires_at_ms(kSomeTimeMs + kSafeGuardSeconds * 1000);
  lease.mutable_renew_after()->set_seconds(60);
}

void FillLease(const v1::RenewRequest& request, v1::Lease& lease) {
  FillLease(request.namespace_(), request.machine_id(), request.instance_id(), request.token(),
            lease);
}

// Reads and writes in turn; deletes itself when the stream is done.
class KeepAliveStream final
    : public grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse> {
 public:
  KeepAliveStream() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    response_.Clear();
    for (const v1::Renewal& renewal : request_.renewals()) {
      v1::RenewalResult* result = response_.add_results();
      result->set_tag(renewal.tag());
      FillLease(renewal.renew(), *result->mutable_lease());
    }
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&request_);
    } else {
      Finish(grpc::Status::OK);
    }
  }

  void OnDone() override { delete this; }

 private:
  v1::KeepAliveRequest request_;
  v1::KeepAliveResponse response_;
};

class NoopService final : public v1::MachineIdService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Claim(grpc::CallbackServerContext* context,
                                  const v1::ClaimRequest* request,
                                  v1::ClaimResponse* response) override {
    FillLease(request->namespace_(), 512, request->instance_id(), 1, *response->mutable_lease());
    return Done(context);
  }

  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const v1::RenewRequest* request,
                                  v1::RenewResponse* response) override {
    FillLease(*request, *response->mutable_lease());
    return Done(context);
  }

  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context, const v1::ReleaseRequest*,
                                    v1::ReleaseResponse*) override {
    return Done(context);
  }

  grpc::ServerUnaryReactor* Watermark(grpc::CallbackServerContext* context,
                                      const v1::WatermarkRequest*,
                                      v1::WatermarkResponse* response) override {
    response->set_watermark_ms(kSomeTimeMs);
    response->set_store_time_ms(kSomeTimeMs);
    return Done(context);
  }

  grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>* KeepAlive(
      grpc::CallbackServerContext*) override {
    return new KeepAliveStream;
  }

 private:
  static grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Serve(const std::string& address) {
  // Blocked before gRPC starts threads, so that only sigwait sees them.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  grpc::EnableDefaultHealthCheckService(true);
  NoopService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "snowlease-noop-server: cannot listen on %s\n", address.c_str());
    return 1;
  }
  std::printf("listening on %s:%d\n", address.substr(0, address.rfind(':')).c_str(), port);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown(std::chrono::system_clock::time_point{});
  return 0;
}

}  // namespace
}  // namespace snowlease

int main(int argc, char** argv) { return snowlease::Serve(argc > 1 ? argv[1] : "127.0.0.1:0"); }
