#include "snowlease/keep_alive.h"

#include <future>
#include <thread>

#include "client/cpp/src/scripted_server.h"
#include "gtest/gtest.h"
#include "snowlease/client.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;
using Answered = std::future<absl::StatusOr<v1::Lease>>;
using Stream = ScriptedServer::Stream;

constexpr std::chrono::seconds kPatience{20};

class KeepAliveTest : public ::testing::Test {
 protected:
  void Connect(const KeepAliveOptions& options = {}, int max_attempts = 5) {
    ClientOptions client{.endpoints = {server_.address()},
                         .retry = {.max_attempts = max_attempts,
                                   .initial_backoff = milliseconds(10),
                                   .max_backoff = milliseconds(100)}};
    client_ = *Client::Create(client);
    stream_ = client_->OpenKeepAlive(options);
  }

  static KeepAliveStream::Renewal Renewal(uint32_t machine_id, Answered& answered) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<v1::Lease>>>();
    answered = promise->get_future();
    v1::RenewRequest request;
    request.set_machine_id(machine_id);
    return {std::move(request),
            [promise](absl::StatusOr<v1::Lease> lease) { promise->set_value(std::move(lease)); }};
  }

  Answered Renew(uint32_t machine_id) {
    Answered answered;
    auto renewal = Renewal(machine_id, answered);
    stream_->Renew(std::move(renewal.request), std::move(renewal.done));
    return answered;
  }

  static absl::StatusOr<v1::Lease> Get(Answered& answered) {
    if (answered.wait_for(kPatience) != std::future_status::ready) {
      return absl::UnknownError("the test has waited long enough");
    }
    return answered.get();
  }

  static absl::StatusOr<uint32_t> MachineId(Answered& answered) {
    const auto lease = Get(answered);
    if (!lease.ok()) return lease.status();
    return lease->machine_id();
  }

  ScriptedServer server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<KeepAliveStream> stream_;
};

// F16
TEST_F(KeepAliveTest, EachRenewalGetsItsOwnAnswer) {
  Connect();
  std::vector<Answered> answered;
  for (uint32_t id = 0; id < 500; ++id) answered.push_back(Renew(id));
  for (uint32_t id = 0; id < 500; ++id) {
    const auto machine_id = MachineId(answered[id]);
    ASSERT_TRUE(machine_id.ok()) << machine_id.status();
    EXPECT_EQ(*machine_id, id);
  }
  EXPECT_EQ(server_.streams(), 1);
}

TEST_F(KeepAliveTest, RenewalsGivenTogetherTravelTogether) {
  std::promise<std::vector<int>> sizes;
  server_.ThenStream([&sizes](grpc::ServerContext*, Stream* stream) {
    std::vector<int> seen;
    v1::KeepAliveRequest request;
    for (int count = 0; count < 25 && stream->Read(&request); count += request.renewals_size()) {
      seen.push_back(request.renewals_size());
    }
    sizes.set_value(seen);
    return grpc::Status::OK;
  });
  Connect({.max_renewals_per_message = 10});
  std::vector<Answered> answered(25);
  std::vector<KeepAliveStream::Renewal> renewals;
  for (uint32_t id = 0; id < 25; ++id) renewals.push_back(Renewal(id, answered[id]));
  stream_->Renew(std::move(renewals));
  auto seen = sizes.get_future();
  ASSERT_EQ(seen.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(seen.get(), (std::vector<int>{10, 10, 5}));
}

// F24
TEST_F(KeepAliveTest, OneLostLeaseDoesNotDisturbTheOthers) {
  server_.ThenStream([](grpc::ServerContext*, Stream* stream) {
    v1::KeepAliveRequest request;
    while (stream->Read(&request)) {
      v1::KeepAliveResponse response;
      for (const auto& renewal : request.renewals()) {
        auto* result = response.add_results();
        result->set_tag(renewal.tag());
        if (renewal.renew().machine_id() == 1) {
          *result->mutable_error() =
              ErrorWith(grpc::FAILED_PRECONDITION, "MACHINE_ID_LOST", {{"cause", "TAKEN_OVER"}});
        } else {
          result->mutable_lease()->set_machine_id(renewal.renew().machine_id());
        }
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  });
  Connect();
  auto first = Renew(0), second = Renew(1), third = Renew(2);
  EXPECT_EQ(*MachineId(first), 0u);
  EXPECT_EQ(LossCauseOf(Get(second).status()), LossCause::kTakenOver);
  EXPECT_EQ(*MachineId(third), 2u);
  auto fourth = Renew(3);
  EXPECT_EQ(*MachineId(fourth), 3u);
  EXPECT_EQ(server_.streams(), 1);
}

// F46: a server that drains answers what it read, ends the stream, and another
// stream takes the rest.
TEST_F(KeepAliveTest, UnansweredRenewalsGoOverTheNextStream) {
  server_.ThenStream([](grpc::ServerContext*, Stream* stream) {
    v1::KeepAliveRequest request;
    stream->Read(&request);
    v1::KeepAliveResponse response;
    auto* result = response.add_results();
    result->set_tag(request.renewals(0).tag());
    result->mutable_lease()->set_machine_id(request.renewals(0).renew().machine_id());
    stream->Write(response);
    return grpc::Status::OK;
  });
  Connect();
  std::vector<Answered> answered(5);
  std::vector<KeepAliveStream::Renewal> renewals;
  for (uint32_t id = 0; id < 5; ++id) renewals.push_back(Renewal(id, answered[id]));
  stream_->Renew(std::move(renewals));
  for (uint32_t id = 0; id < 5; ++id) {
    const auto machine_id = MachineId(answered[id]);
    ASSERT_TRUE(machine_id.ok()) << machine_id.status();
    EXPECT_EQ(*machine_id, id);
  }
  EXPECT_EQ(server_.streams(), 2);
}

TEST_F(KeepAliveTest, BrokenStreamIsOpenedAnewAFewTimesOnly) {
  for (int i = 0; i < 3; ++i) {
    server_.ThenStream([](grpc::ServerContext*, Stream*) {
      return grpc::Status(grpc::UNAVAILABLE, "connection reset");
    });
  }
  Connect({}, /*max_attempts=*/5);
  auto patient = Renew(1);
  EXPECT_EQ(*MachineId(patient), 1u);

  for (int i = 0; i < 2; ++i) {
    server_.ThenStream([](grpc::ServerContext*, Stream* stream) {
      v1::KeepAliveRequest request;
      stream->Read(&request);
      return grpc::Status(grpc::UNAVAILABLE, "connection reset");
    });
  }
  Connect({}, /*max_attempts=*/2);
  auto impatient = Renew(1);
  EXPECT_TRUE(absl::IsUnavailable(Get(impatient).status()));
}

TEST_F(KeepAliveTest, RefusedStreamFailsItsRenewals) {
  server_.ThenStream([](grpc::ServerContext*, Stream* stream) {
    v1::KeepAliveRequest request;
    stream->Read(&request);
    return ToGrpc(ErrorWith(grpc::UNAUTHENTICATED, "UNAUTHENTICATED"));
  });
  Connect();
  auto refused = Renew(1);
  EXPECT_EQ(ReasonOf(Get(refused).status()), Reason::kUnauthenticated);
  auto accepted = Renew(2);
  EXPECT_EQ(*MachineId(accepted), 2u);
}

// F17
TEST_F(KeepAliveTest, SilentServerFailsTheRenewalAtItsDeadlineAndIsLeft) {
  server_.ThenStream([](grpc::ServerContext* context, Stream*) {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  });
  Connect({.timeout = milliseconds(200)});
  auto unanswered = Renew(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Get(unanswered).status()));
  Connect({.timeout = milliseconds(10000)});
  auto answered = Renew(2);
  EXPECT_EQ(*MachineId(answered), 2u);
}

TEST_F(KeepAliveTest, SilentStreamIsReplacedByAnother) {
  server_.ThenStream([](grpc::ServerContext* context, Stream*) {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  });
  Connect({.timeout = milliseconds(300)});
  auto unanswered = Renew(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Get(unanswered).status()));
  absl::StatusOr<uint32_t> machine_id = absl::UnknownError("");
  for (int i = 0; i < 10 && !machine_id.ok(); ++i) {
    auto answered = Renew(2);
    machine_id = MachineId(answered);
  }
  EXPECT_TRUE(machine_id.ok()) << machine_id.status();
  EXPECT_EQ(server_.streams(), 2);
}

TEST_F(KeepAliveTest, CloseAnswersWhatIsOpen) {
  server_.ThenStream([](grpc::ServerContext* context, Stream*) {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  });
  Connect();
  auto open = Renew(1);
  stream_->Close();
  EXPECT_TRUE(absl::IsCancelled(Get(open).status()));
  auto late = Renew(2);
  EXPECT_TRUE(absl::IsCancelled(Get(late).status()));
  stream_->Close();
}

TEST_F(KeepAliveTest, CallbackMayRenewAgain) {
  Connect();
  std::promise<absl::StatusOr<v1::Lease>> second;
  auto answered = second.get_future();
  v1::RenewRequest request;
  request.set_machine_id(4);
  stream_->Renew(request, [&](absl::StatusOr<v1::Lease>) {
    stream_->Renew(request, [&](absl::StatusOr<v1::Lease> lease) { second.set_value(lease); });
  });
  EXPECT_EQ(*MachineId(answered), 4u);
  stream_->Close();
}

}  // namespace
}  // namespace snowlease::client
