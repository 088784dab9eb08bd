#include "client/cpp/src/scripted_server.h"

#include "google/rpc/error_details.pb.h"
#include "snowlease/grpc.h"

namespace snowlease::client {

google::rpc::Status ErrorWith(grpc::StatusCode code, const std::string& reason,
                              const std::map<std::string, std::string>& metadata) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(reason + " happened");
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("snowlease");
  info.mutable_metadata()->insert(metadata.begin(), metadata.end());
  status.add_details()->PackFrom(info);
  return status;
}

grpc::Status ToGrpc(const google::rpc::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(),
          status.SerializeAsString()};
}

ScriptedServer::ScriptedServer() { Restart(); }

void ScriptedServer::Restart() {
  server_.reset();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

ScriptedServer::~ScriptedServer() { Stop(); }

void ScriptedServer::Stop() { server_->Shutdown(DeadlineIn(std::chrono::milliseconds(0))); }

void ScriptedServer::Then(Answer answer) {
  std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
}

void ScriptedServer::ThenStream(StreamAnswer answer) {
  std::lock_guard lock(mutex_);
  stream_answers_.push_back(std::move(answer));
}

std::vector<std::string> ScriptedServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

int ScriptedServer::streams() const {
  std::lock_guard lock(mutex_);
  return streams_;
}

grpc::Status ScriptedServer::Next(grpc::ServerContext* context, const std::string& request) {
  Answer answer;
  {
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    if (answers_.empty()) return grpc::Status::OK;
    answer = std::move(answers_.front());
    answers_.pop_front();
  }
  return answer(context);
}

grpc::Status ScriptedServer::Claim(grpc::ServerContext* context, const v1::ClaimRequest* request,
                                   v1::ClaimResponse* response) {
  response->mutable_lease()->set_machine_id(7);
  return Next(context, request->SerializeAsString());
}

grpc::Status ScriptedServer::Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                                   v1::RenewResponse* response) {
  response->mutable_lease()->set_token(request->token());
  return Next(context, request->SerializeAsString());
}

grpc::Status ScriptedServer::KeepAlive(grpc::ServerContext* context, Stream* stream) {
  StreamAnswer answer;
  {
    std::lock_guard lock(mutex_);
    ++streams_;
    if (!stream_answers_.empty()) {
      answer = std::move(stream_answers_.front());
      stream_answers_.pop_front();
    }
  }
  if (answer) return answer(context, stream);
  v1::KeepAliveRequest request;
  while (stream->Read(&request)) {
    v1::KeepAliveResponse response;
    for (const auto& renewal : request.renewals()) {
      auto* result = response.add_results();
      result->set_tag(renewal.tag());
      result->mutable_lease()->set_machine_id(renewal.renew().machine_id());
    }
    stream->Write(response);
  }
  return grpc::Status::OK;
}

std::chrono::milliseconds InstantClock::Now() const { return Clock::Real()->Now(); }

std::chrono::nanoseconds InstantClock::SteadyNow() const {
  std::lock_guard lock(mutex_);
  return Clock::Real()->SteadyNow() + skipped_;
}

bool InstantClock::Wait(std::chrono::nanoseconds duration, std::stop_token stop) {
  {
    std::lock_guard lock(mutex_);
    skipped_ += duration;
    waits_.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
  }
  if (on_wait) on_wait();
  return !stop.stop_requested();
}

std::vector<std::chrono::milliseconds> InstantClock::waits() const {
  std::lock_guard lock(mutex_);
  return waits_;
}

}  // namespace snowlease::client
