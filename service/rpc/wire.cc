#include "service/rpc/wire.h"

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/proto_buffer_writer.h"
#include "service/rpc/utf8.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr int kMaxSliceBytes = 1 << 20;

std::string Flatten(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string flat;
  if (!bytes.Dump(&slices).ok()) return flat;
  for (const grpc::Slice& slice : slices) {
    flat.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return flat;
}

// Adds a violation for every text field that is not UTF-8; messages are as deep as
// their descriptors, which do not recurse.
void FindBadText(const std::string& bytes, const Descriptor& descriptor, const std::string& prefix,
                 std::vector<storage::FieldViolation>& found) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    const FieldDescriptor* known = descriptor.FindFieldByNumber(field.number());
    if (known == nullptr || field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    const std::string name = prefix + known->name();
    if (known->type() == FieldDescriptor::TYPE_MESSAGE) {
      FindBadText(field.length_delimited(), *known->message_type(), name + ".", found);
    } else if (known->type() == FieldDescriptor::TYPE_STRING) {
      if (const auto at = InvalidUtf8At(field.length_delimited())) {
        found.push_back(
            {name, "is not UTF-8 at byte " + std::to_string(*at) + ": encode it as UTF-8"});
      }
    }
  }
}

absl::Status WhyUnparsable(const std::string& bytes, const Descriptor& descriptor) {
  std::vector<storage::FieldViolation> found;
  FindBadText(bytes, descriptor, "", found);
  if (found.empty()) {
    found.push_back({"request", "is no serialised " + descriptor.full_name() +
                                    ": generate the client from this server's proto files"});
  }
  return storage::InvalidArgumentError(found);
}

absl::StatusOr<v1::RenewRequest> ParseRenew(const std::string& bytes) {
  v1::RenewRequest request;
  if (request.ParseFromString(bytes)) return request;
  return WhyUnparsable(bytes, *v1::RenewRequest::descriptor());
}

SalvagedRenewal Salvage(const std::string& bytes) {
  SalvagedRenewal salvaged;
  salvaged.renew = v1::RenewRequest();
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) {
    salvaged.renew = WhyUnparsable(bytes, *v1::Renewal::descriptor());
    return salvaged;
  }
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == v1::Renewal::kTagFieldNumber &&
        field.type() == UnknownField::TYPE_VARINT) {
      salvaged.tag = field.varint();
    } else if (field.number() == v1::Renewal::kRenewFieldNumber &&
               field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      salvaged.renew = ParseRenew(field.length_delimited());
    }
  }
  return salvaged;
}

}  // namespace

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  // The reader only reads, but asks for a mutable buffer.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&bytes));
  if (reader.status().ok() && message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return WhyUnparsable(Flatten(bytes), *message->GetDescriptor());
}

void SerializeMessage(const google::protobuf::Message& message, grpc::ByteBuffer* bytes) {
  bytes->Clear();
  grpc::ProtoBufferWriter writer(bytes, kMaxSliceBytes, static_cast<int>(message.ByteSizeLong()));
  message.SerializeToZeroCopyStream(&writer);
}

absl::StatusOr<std::vector<SalvagedRenewal>> SalvageRenewals(const grpc::ByteBuffer& bytes) {
  const std::string flat = Flatten(bytes);
  UnknownFieldSet fields;
  if (!fields.ParseFromString(flat)) {
    return WhyUnparsable(flat, *v1::KeepAliveRequest::descriptor());
  }
  std::vector<SalvagedRenewal> salvaged;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == v1::KeepAliveRequest::kRenewalsFieldNumber &&
        field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      salvaged.push_back(Salvage(field.length_delimited()));
    }
  }
  return salvaged;
}

}  // namespace snowlease::service
