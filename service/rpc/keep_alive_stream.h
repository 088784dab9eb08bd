#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/rpc/grpc_call.h"
#include "service/rpc/machine_id_handler.h"
#include "snowlease/v1/machine_id.pb.h"
#include "storage/clock.h"

namespace snowlease::service {

struct KeepAliveOptions {
  // Renewals read but not yet answered; with more the stream stops reading.
  int max_unanswered = 4096;
  // The stream half-closes after this; 0: never. By gRPC's own timer.
  storage::Millis max_age{0};
};

// One KeepAlive stream. Reading, answering and writing go on apart from each other:
// one read and one write are in flight at most, results that are ready together go
// out in one message, and a bad renewal is answered like any other. Ends with OK once
// the client, HalfClose or its age has closed it and everything read is answered.
//
// Thread-safe. gRPC holds it until OnDone, answers in flight hold it beyond.
class KeepAliveStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                              public std::enable_shared_from_this<KeepAliveStream> {
 public:
  // `on_done` is told when gRPC is done with the stream; it must not hold a lock that
  // Start is called under when it runs on the same thread.
  static std::shared_ptr<KeepAliveStream> Start(MachineIdHandler* handler, storage::Clock* clock,
                                                grpc::CallbackServerContext* context,
                                                storage::Millis default_deadline,
                                                KeepAliveOptions options, CallCounter counter,
                                                std::function<void(KeepAliveStream*)> on_done);

  // Reads no more, answers what was read, then ends with OK. Idempotent.
  void HalfClose();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  KeepAliveStream(MachineIdHandler* handler, storage::Clock* clock,
                  grpc::CallbackServerContext* context, storage::Millis default_deadline,
                  KeepAliveOptions options, CallCounter counter,
                  std::function<void(KeepAliveStream*)> on_done);

  void SetAgeAlarm();
  // Hands the renewals of the message just read to the handler.
  void Dispatch();
  void DispatchSalvaged(const CallContext& call, const absl::Status& parse_status);
  // Counts renewals as read; false when they are too many and the stream ends.
  bool Accept(int renewals);
  void Renew(uint64_t tag, const v1::RenewRequest& request, const CallContext& call);
  void Answer(uint64_t tag, absl::StatusOr<v1::Lease> lease);
  void EndWith(const absl::Status& status);
  // Starts whatever may be started now: a write, a read, the end.
  void Advance(std::unique_lock<std::mutex> lock);
  v1::KeepAliveResponse TakeReady();

  MachineIdHandler* const handler_;
  storage::Clock* const clock_;
  grpc::CallbackServerContext* const context_;
  const storage::Millis default_deadline_;
  const KeepAliveOptions options_;
  const CallCounter counter_;
  const std::function<void(KeepAliveStream*)> on_done_;
  std::shared_ptr<KeepAliveStream> self_;  // until OnDone
  grpc::Alarm age_alarm_;
  grpc::ByteBuffer in_;   // touched by the one read in flight and its dispatch
  grpc::ByteBuffer out_;  // touched by the one write in flight

  std::mutex mutex_;
  bool reading_ = false;
  bool dispatching_ = false;
  bool writing_ = false;
  bool read_closed_ = false;  // nothing more will be read
  bool broken_ = false;       // nobody is there to read answers
  bool finished_ = false;
  int unanswered_ = 0;
  google::protobuf::RepeatedPtrField<v1::RenewalResult> ready_;
  absl::Status end_status_;
};

}  // namespace snowlease::service
