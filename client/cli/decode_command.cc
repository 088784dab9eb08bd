#include "client/cli/decode_command.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/admin_tables.h"
#include "client/cli/arguments.h"
#include "client/cli/connection.h"
#include "client/cli/error_text.h"
#include "client/cli/exit_codes.h"
#include "snowlease/codec.h"

namespace snowlease::cli {
namespace {

absl::StatusOr<client::Codec> CodecOf(const LayoutOptions& options) {
  auto layout = client::Layout::ByName(options.layout);
  if (!layout.ok()) return layout.status();
  if (options.epoch_ms) layout->epoch = std::chrono::milliseconds(*options.epoch_ms);
  if (!options.bits.empty()) {
    const std::vector<std::string> parts = absl::StrSplit(options.bits, '/');
    std::vector<int> bits;
    for (const std::string& part : parts) {
      const auto number = ParseNumber(part, 1, 61);
      if (number.ok()) bits.push_back(static_cast<int>(*number));
    }
    if (parts.size() != 3 || bits.size() != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--bits: '", options.bits, "' is not timestamp/machine/sequence bits, e.g. 41/10/12"));
    }
    layout->timestamp_bits = bits[0];
    layout->machine_bits = bits[1];
    layout->sequence_bits = bits[2];
  }
  return client::Codec::Create(*layout);
}

absl::StatusOr<client::IdParts> PartsOf(const client::Codec& codec, const std::string& id) {
  const bool friendly = std::count(id.begin(), id.end(), '-') == 2 && id.front() != '-';
  return friendly ? codec.ParseFriendly(id) : codec.Decode(id);
}

int PrintParts(Console& console, const GlobalOptions& global, const client::Codec& codec,
               const client::IdParts& parts) {
  const auto id = codec.Encode(parts);
  if (!id.ok()) return Fail(console, id.status(), global.server);
  // A layout that reaches past the year 9999 has ids without a friendly form.
  const std::string friendly = codec.FormatFriendly(parts).value_or("");
  Table table({"ID", "TIME", "TIMESTAMP_MS", "MACHINE_ID", "SEQUENCE", "FRIENDLY"});
  table.Add({*id, FormatTime(parts.timestamp_ms), absl::StrCat(parts.timestamp_ms),
             absl::StrCat(parts.machine_id), absl::StrCat(parts.sequence), friendly});
  JsonObject json;
  json.Text("id", *id)
      .Text("time", FormatTime(parts.timestamp_ms))
      .Integer64("timestampMs", parts.timestamp_ms)
      .Number("machineId", parts.machine_id)
      .Integer64("sequence", static_cast<int64_t>(parts.sequence));
  if (!friendly.empty()) json.Text("friendly", friendly);
  Print(console, global, json.Json(), table);
  return kExitOk;
}

}  // namespace

int RunDecode(Console& console, const GlobalOptions& global, const LayoutOptions& layout,
              const std::string& id) {
  const auto codec = CodecOf(layout);
  if (!codec.ok()) return FailUsage(console, std::string(codec.status().message()));
  const auto parts = PartsOf(*codec, id);
  if (!parts.ok()) return Fail(console, parts.status(), global.server);
  return PrintParts(console, global, *codec, *parts);
}

int RunOwner(Console& console, const GlobalOptions& global, const LayoutOptions& layout,
             const std::string& name_space, const std::string& id) {
  const auto codec = CodecOf(layout);
  if (!codec.ok()) return FailUsage(console, std::string(codec.status().message()));
  const auto parts = PartsOf(*codec, id);
  if (!parts.ok()) return Fail(console, parts.status(), global.server);
  auto connection = Connect(global);
  if (!connection.ok()) return FailUsage(console, std::string(connection.status().message()));
  v1::FindOwnerRequest request;
  request.set_namespace_(name_space);
  request.set_machine_id(parts->machine_id);
  request.set_timestamp_ms(parts->timestamp_ms);
  const auto response = (*connection)->FindOwner(request);
  if (!response.ok()) return Fail(console, response.status(), global.server);
  Table table = GrantTable();
  for (const auto& grant : response->grants()) AddGrant(table, grant);
  Print(console, global, *response, table);
  if (global.output == OutputFormat::kTable) {
    console.err << "machine id " << parts->machine_id << " of " << name_space << " at "
                << FormatTime(parts->timestamp_ms) << ": " << response->grants_size()
                << (response->grants_size() == 1 ? " grant\n" : " grants\n");
  }
  return kExitOk;
}

}  // namespace snowlease::cli
