#include "client/cpp/src/health.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace snowlease::client {
namespace {

constexpr uint32_t kServiceTag = 1 << 3 | 2;  // field 1, length-delimited
constexpr uint32_t kStatusTag = 1 << 3 | 0;   // field 1, varint
constexpr uint32_t kServing = 1;

}  // namespace

grpc::ByteBuffer HealthRequest(const std::string& service) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.WriteTag(kServiceTag);
    out.WriteVarint32(static_cast<uint32_t>(service.size()));
    out.WriteString(service);
  }
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status HealthAnswer(const grpc::ByteBuffer& response) {
  grpc::Slice slice;
  if (!response.DumpToSingleSlice(&slice).ok()) {
    return absl::InternalError("the health service's answer cannot be read");
  }
  google::protobuf::io::CodedInputStream in(slice.begin(), static_cast<int>(slice.size()));
  uint32_t status = 0;
  if (in.ReadTag() == kStatusTag) in.ReadVarint32(&status);
  if (status == kServing) return absl::OkStatus();
  return absl::UnavailableError("the server answers, but does not serve at the moment");
}

}  // namespace snowlease::client
