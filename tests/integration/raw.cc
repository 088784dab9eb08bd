#include <condition_variable>
#include <iostream>
#include <mutex>

#include "grpcpp/generic/generic_stub.h"
#include "tests/integration/test_client.h"

namespace snowlease::testing {
namespace {

constexpr std::chrono::seconds kDeadline{5};

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string ToHex(const grpc::ByteBuffer& buffer) {
  constexpr char kDigits[] = "0123456789abcdef";
  grpc::Slice slice;
  std::string hex;
  if (!buffer.Valid() || !buffer.DumpToSingleSlice(&slice).ok()) return hex;
  for (size_t i = 0; i < slice.size(); ++i) {
    hex += {kDigits[slice.begin()[i] >> 4], kDigits[slice.begin()[i] & 15]};
  }
  return hex;
}

}  // namespace

int Raw(const std::string& server, const std::string& method) {
  std::string hex;
  std::cin >> hex;
  const grpc::Slice slice(FromHex(hex));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  grpc::GenericStub stub(OwnChannel(server));
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  grpc::Status status;
  stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &response,
                 [&](const grpc::Status& answer) {
                   const std::lock_guard lock(mutex);
                   status = answer;
                   done = true;
                   changed.notify_one();
                 });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
  Report({{"code", std::to_string(status.error_code())},
          {"reason", status.ok() ? "" : ReasonOf(status)},
          {"message", status.error_message()},
          {"response", ToHex(response)}});
  return 0;
}

}  // namespace snowlease::testing
