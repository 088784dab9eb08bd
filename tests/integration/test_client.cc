#include "tests/integration/test_client.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "snowlease/client.h"

namespace snowlease::testing {
namespace {

std::string JsonText(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

int Usage() {
  std::fprintf(stderr,
               "usage: snowlease-test-client hold SERVER NAMESPACE THREADS\n"
               "       snowlease-test-client flood SERVER NAMESPACE RATE SECONDS OUTSTANDING\n"
               "       snowlease-test-client stream SERVER NAMESPACE LEASES\n"
               "       snowlease-test-client connections SERVER NAMESPACE COUNT\n"
               "       snowlease-test-client raw SERVER METHOD <HEX\n");
  return 2;
}

}  // namespace

void Report(const Fields& fields) {
  static std::mutex mutex;
  std::string line;
  for (const auto& [key, value] : fields) {
    line += (line.empty() ? "{" : ", ") + JsonText(key) + ": " + JsonText(value);
  }
  line += "}\n";
  const std::lock_guard lock(mutex);
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

void WaitForEndOfInput() {
  char buffer[64];
  while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0) {
  }
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::shared_ptr<grpc::Channel> OwnChannel(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

v1::ClaimRequest NewClaim(const std::string& name_space, const std::string& instance_id) {
  v1::ClaimRequest request;
  request.set_namespace_(name_space);
  request.set_instance_id(instance_id);
  request.set_incarnation_id(client::NewIncarnationId());
  request.set_machine_bits(20);
  request.set_client_time_ms(NowMs());
  return request;
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status rich;
  google::rpc::ErrorInfo info;
  if (rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : rich.details()) {
      if (detail.UnpackTo(&info)) return info.reason();
    }
  }
  return "code " + std::to_string(status.error_code());
}

}  // namespace snowlease::testing

int main(int argc, char** argv) {
  using namespace snowlease::testing;
  if (argc < 4) return Usage();
  const std::string command = argv[1];
  const std::string server = argv[2];
  const std::string name_space = argv[3];
  if (command == "raw") return Raw(server, argv[3]);
  if (argc < 5) return Usage();
  const int number = std::atoi(argv[4]);
  if (command == "hold") return Hold(server, name_space, number);
  if (command == "stream") return Stream(server, name_space, number);
  if (command == "connections") return Connections(server, name_space, number);
  if (command != "flood" || argc != 7) return Usage();
  return Flood(server, name_space, {number, std::atof(argv[5]), std::atoi(argv[6])});
}
