#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "snowlease/v1/machine_id.pb.h"

// Messages to and from bytes. The services take raw bytes because gRPC answers a
// message that does not parse with a bare UNIMPLEMENTED.

namespace snowlease::service {

// Errors: INVALID_ARGUMENT, naming the fields whose text is not UTF-8.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

void SerializeMessage(const google::protobuf::Message& message, grpc::ByteBuffer* bytes);

// One renewal of a message that does not parse as a whole.
struct SalvagedRenewal {
  uint64_t tag = 0;
  absl::StatusOr<v1::RenewRequest> renew;
};
// Parses the renewals one by one. Errors: INVALID_ARGUMENT when not even that works.
absl::StatusOr<std::vector<SalvagedRenewal>> SalvageRenewals(const grpc::ByteBuffer& bytes);

}  // namespace snowlease::service
