#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "google/rpc/status.pb.h"
#include "snowlease/clock.h"
#include "snowlease/v1/machine_id.grpc.pb.h"

namespace snowlease::client {

// A reason as the real server would send it.
google::rpc::Status ErrorWith(grpc::StatusCode code, const std::string& reason,
                              const std::map<std::string, std::string>& metadata = {});
grpc::Status ToGrpc(const google::rpc::Status& status);

// A server in this process that answers as it was told, one answer per call; OK
// when it was told nothing more.
class ScriptedServer final : public v1::MachineIdService::Service {
 public:
  using Answer = std::function<grpc::Status(grpc::ServerContext*)>;
  using Stream = grpc::ServerReaderWriter<v1::KeepAliveResponse, v1::KeepAliveRequest>;
  using StreamAnswer = std::function<grpc::Status(grpc::ServerContext*, Stream*)>;

  ScriptedServer();
  ~ScriptedServer() override;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void Then(Answer answer);
  void ThenStream(StreamAnswer answer);
  // Requests received so far, serialised.
  std::vector<std::string> requests() const;
  int streams() const;
  // Ends all calls and refuses new ones.
  void Stop();
  // Listens again on the port that it had.
  void Restart();

  grpc::Status Claim(grpc::ServerContext* context, const v1::ClaimRequest* request,
                     v1::ClaimResponse* response) override;
  grpc::Status Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                     v1::RenewResponse* response) override;
  grpc::Status KeepAlive(grpc::ServerContext* context, Stream* stream) override;

 private:
  grpc::Status Next(grpc::ServerContext* context, const std::string& request);

  mutable std::mutex mutex_;
  std::deque<Answer> answers_;
  std::deque<StreamAnswer> stream_answers_;
  std::vector<std::string> requests_;
  int streams_ = 0;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Waits cost no time: the clock is simply that much later.
class InstantClock final : public Clock {
 public:
  std::chrono::milliseconds Now() const override;
  std::chrono::nanoseconds SteadyNow() const override;
  bool Wait(std::chrono::nanoseconds duration, std::stop_token stop) override;

  std::vector<std::chrono::milliseconds> waits() const;
  // Called within every wait.
  std::function<void()> on_wait;

 private:
  mutable std::mutex mutex_;
  std::chrono::nanoseconds skipped_{0};
  std::vector<std::chrono::milliseconds> waits_;
};

}  // namespace snowlease::client
