#include "snowlease/codec.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/src/civil_time.h"
#include "client/cpp/src/digits.h"

namespace snowlease::client {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
// Debian's Abseil has a string_view of its own.
absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

uint64_t MaxOf(int bits) { return (uint64_t{1} << bits) - 1; }

absl::Status TooLarge(const char* what, uint64_t value, int bits) {
  return absl::OutOfRangeError(absl::StrCat(what, " ", value, " does not fit the layout's ", bits,
                                            " bits: the largest is ", MaxOf(bits)));
}

absl::Status CheckBits(const Layout& layout) {
  const auto in_range = [](int bits, int most) { return bits >= 1 && bits <= most; };
  if (!in_range(layout.machine_bits, 30)) {
    return absl::InvalidArgumentError(
        absl::StrCat("machine bits are 1..30, not ", layout.machine_bits));
  }
  if (!in_range(layout.timestamp_bits, 61) || !in_range(layout.sequence_bits, 61)) {
    return absl::InvalidArgumentError(
        absl::StrCat("timestamp and sequence bits are 1..61 each, not ", layout.timestamp_bits,
                     " and ", layout.sequence_bits));
  }
  if (layout.family == LayoutFamily::kRadix62) return absl::OkStatus();
  const int most = layout.family == LayoutFamily::kSafeJs ? 53 : 63;
  const int sum = layout.timestamp_bits + layout.machine_bits + layout.sequence_bits;
  if (sum > most) {
    return absl::InvalidArgumentError(absl::StrCat("timestamp, machine and sequence bits are ", sum,
                                                   " together, this layout has room for ", most));
  }
  return absl::OkStatus();
}

absl::Status CheckTime(const Layout& layout) {
  const int64_t tick = layout.tick.count();
  if (tick != 1 && tick != 1000) {
    return absl::InvalidArgumentError("a tick is 1 ms or 1 s");
  }
  const int64_t epoch = layout.epoch.count();
  if (epoch < 0 || epoch % tick != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the epoch is a multiple of ", tick, " ms since 1970, 0 or more, not ", epoch, " ms"));
  }
  if (MaxOf(layout.timestamp_bits) > static_cast<uint64_t>((kMaxInt64 - epoch) / tick - 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(layout.timestamp_bits,
                     " timestamp bits reach past the last millisecond that 64 bits can hold"));
  }
  return absl::OkStatus();
}

}  // namespace

Layout Layout::SnowflakeMs() { return Layout{}; }

Layout Layout::SnowflakeSeconds() {
  return Layout{.timestamp_bits = 31, .sequence_bits = 22, .tick = milliseconds(1000)};
}

Layout Layout::SafeJsMs() {
  return Layout{.family = LayoutFamily::kSafeJs, .machine_bits = 3, .sequence_bits = 9};
}

Layout Layout::SafeJsSeconds() {
  return Layout{.family = LayoutFamily::kSafeJs,
                .timestamp_bits = 31,
                .machine_bits = 3,
                .sequence_bits = 19,
                .tick = milliseconds(1000)};
}

Layout Layout::Radix62() {
  return Layout{.family = LayoutFamily::kRadix62,
                .timestamp_bits = 44,
                .machine_bits = 20,
                .sequence_bits = 16,
                .epoch = milliseconds(0)};
}

absl::StatusOr<Layout> Layout::ByName(std::string_view name) {
  if (name == "snowflake-ms" || name == "snowflake") return SnowflakeMs();
  if (name == "snowflake-s") return SnowflakeSeconds();
  if (name == "safe-js-ms" || name == "safe-js") return SafeJsMs();
  if (name == "safe-js-s") return SafeJsSeconds();
  if (name == "radix62") return Radix62();
  return absl::InvalidArgumentError(
      absl::StrCat("no layout is called '", View(name),
                   "': it is one of snowflake-ms, snowflake-s, safe-js-ms, safe-js-s, radix62"));
}

absl::StatusOr<Codec> Codec::Create(const Layout& layout) {
  absl::Status problem = CheckBits(layout);
  if (problem.ok()) problem = CheckTime(layout);
  if (!problem.ok()) return problem;
  return Codec(layout);
}

int64_t Codec::last_timestamp_ms() const {
  return layout_.epoch.count() +
         static_cast<int64_t>(MaxOf(layout_.timestamp_bits)) * layout_.tick.count();
}

absl::StatusOr<Codec::Fields> Codec::ToFields(const IdParts& parts) const {
  const int64_t epoch = layout_.epoch.count();
  const int64_t tick = layout_.tick.count();
  if (parts.timestamp_ms < epoch) {
    return absl::OutOfRangeError(absl::StrCat("timestamp ", parts.timestamp_ms,
                                              " ms is before the layout's epoch ", epoch, " ms"));
  }
  if (parts.timestamp_ms > last_timestamp_ms()) {
    return absl::OutOfRangeError(absl::StrCat("timestamp ", parts.timestamp_ms,
                                              " ms is past the layout's last one, ",
                                              last_timestamp_ms(), " ms"));
  }
  if ((parts.timestamp_ms - epoch) % tick != 0) {
    return absl::OutOfRangeError(absl::StrCat("timestamp ", parts.timestamp_ms,
                                              " ms is no whole second, the layout counts seconds"));
  }
  if (parts.machine_id > MaxOf(layout_.machine_bits)) {
    return TooLarge("machine id", parts.machine_id, layout_.machine_bits);
  }
  if (parts.sequence > MaxOf(layout_.sequence_bits)) {
    return TooLarge("sequence", parts.sequence, layout_.sequence_bits);
  }
  return Fields{static_cast<uint64_t>((parts.timestamp_ms - epoch) / tick), parts.machine_id,
                parts.sequence};
}

absl::StatusOr<IdParts> Codec::ToParts(const Fields& fields) const {
  if (fields.ticks > MaxOf(layout_.timestamp_bits)) {
    return TooLarge("timestamp", fields.ticks, layout_.timestamp_bits);
  }
  if (fields.machine_id > MaxOf(layout_.machine_bits)) {
    return TooLarge("machine id", fields.machine_id, layout_.machine_bits);
  }
  if (fields.sequence > MaxOf(layout_.sequence_bits)) {
    return TooLarge("sequence", fields.sequence, layout_.sequence_bits);
  }
  return IdParts{layout_.epoch.count() + static_cast<int64_t>(fields.ticks) * layout_.tick.count(),
                 static_cast<uint32_t>(fields.machine_id), fields.sequence};
}

absl::StatusOr<int64_t> Codec::EncodeInteger(const IdParts& parts) const {
  if (layout_.family == LayoutFamily::kRadix62) {
    return absl::FailedPreconditionError("a radix62 id is a text, not an integer");
  }
  const auto fields = ToFields(parts);
  if (!fields.ok()) return fields.status();
  const uint64_t id = (fields->ticks << (layout_.machine_bits + layout_.sequence_bits)) |
                      (fields->machine_id << layout_.sequence_bits) | fields->sequence;
  return static_cast<int64_t>(id);
}

absl::StatusOr<IdParts> Codec::DecodeInteger(int64_t id) const {
  if (layout_.family == LayoutFamily::kRadix62) {
    return absl::FailedPreconditionError("a radix62 id is a text, not an integer");
  }
  if (id < 0) return absl::OutOfRangeError(absl::StrCat("an id is never negative: ", id));
  const uint64_t bits = static_cast<uint64_t>(id);
  // More bits than the layout has make too large a timestamp, which ToParts refuses.
  return ToParts({bits >> (layout_.machine_bits + layout_.sequence_bits),
                  (bits >> layout_.sequence_bits) & MaxOf(layout_.machine_bits),
                  bits & MaxOf(layout_.sequence_bits)});
}

absl::StatusOr<std::string> Codec::Encode(const IdParts& parts) const {
  if (layout_.family != LayoutFamily::kRadix62) {
    const auto id = EncodeInteger(parts);
    if (!id.ok()) return id.status();
    return std::to_string(*id);
  }
  const auto fields = ToFields(parts);
  if (!fields.ok()) return fields.status();
  return ToRadix62(fields->ticks, Radix62Width(layout_.timestamp_bits)) +
         ToRadix62(fields->machine_id, Radix62Width(layout_.machine_bits)) +
         ToRadix62(fields->sequence, Radix62Width(layout_.sequence_bits));
}

absl::StatusOr<IdParts> Codec::Decode(std::string_view id) const {
  if (layout_.family == LayoutFamily::kRadix62) return DecodeRadix62(id);
  const auto value = ParseDecimal(id);
  if (!value) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", View(id), "' is no id of this layout: it is a positive decimal integer"));
  }
  if (*value > static_cast<uint64_t>(kMaxInt64)) {
    return absl::OutOfRangeError(absl::StrCat("id ", *value, " is above ", kMaxInt64));
  }
  return DecodeInteger(static_cast<int64_t>(*value));
}

absl::StatusOr<IdParts> Codec::DecodeRadix62(std::string_view id) const {
  const size_t timestamp_width = static_cast<size_t>(Radix62Width(layout_.timestamp_bits));
  const size_t machine_width = static_cast<size_t>(Radix62Width(layout_.machine_bits));
  const size_t sequence_width = static_cast<size_t>(Radix62Width(layout_.sequence_bits));
  const size_t width = timestamp_width + machine_width + sequence_width;
  if (id.size() != width) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an id of this layout has ", width, " characters, '", View(id), "' has ", id.size()));
  }
  const auto ticks = FromRadix62(id.substr(0, timestamp_width));
  const auto machine_id = FromRadix62(id.substr(timestamp_width, machine_width));
  const auto sequence = FromRadix62(id.substr(timestamp_width + machine_width));
  if (!ticks || !machine_id || !sequence) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", View(id), "' has characters other than 0-9, A-Z and a-z"));
  }
  return ToParts({*ticks, *machine_id, *sequence});
}

absl::StatusOr<std::string> Codec::FormatFriendly(const IdParts& parts) const {
  const auto fields = ToFields(parts);
  if (!fields.ok()) return fields.status();
  const auto time = FormatCompactTime(parts.timestamp_ms);
  if (!time) {
    return absl::OutOfRangeError(absl::StrCat(
        "timestamp ", parts.timestamp_ms, " ms is past the year 9999: it has no friendly form"));
  }
  return absl::StrCat(*time, "-", parts.machine_id, "-", parts.sequence);
}

absl::StatusOr<IdParts> Codec::ParseFriendly(std::string_view text) const {
  const auto unreadable = [text](const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", View(text), "' is no yyyyMMddHHmmssSSS-machine-sequence: ", why));
  };
  const size_t first = text.find('-');
  const size_t second = first == text.npos ? text.npos : text.find('-', first + 1);
  if (second == text.npos) return unreadable("three parts are needed");
  const auto timestamp = ParseCompactTime(text.substr(0, first));
  if (!timestamp) return unreadable("the first part is no time");
  const auto machine_id = ParseDecimal(text.substr(first + 1, second - first - 1));
  if (!machine_id) return unreadable("the machine id is no number");
  const auto sequence = ParseDecimal(text.substr(second + 1));
  if (!sequence) return unreadable("the sequence is no number");
  if (*machine_id > MaxOf(layout_.machine_bits)) {
    return TooLarge("machine id", *machine_id, layout_.machine_bits);
  }
  const IdParts parts{*timestamp, static_cast<uint32_t>(*machine_id), *sequence};
  const auto fields = ToFields(parts);
  if (!fields.ok()) return fields.status();
  return parts;
}

}  // namespace snowlease::client
