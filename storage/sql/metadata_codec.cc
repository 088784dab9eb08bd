#include "storage/sql/metadata_codec.h"

#include <charconv>

namespace snowlease::storage {
namespace {

void AppendText(std::string& out, const std::string& text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

std::optional<std::string> TakeText(std::string_view& in) {
  size_t length = 0;
  const char* const in_end = in.data() + in.size();
  const auto [end, error] = std::from_chars(in.data(), in_end, length);
  if (error != std::errc() || end == in_end || *end != ':') return std::nullopt;
  in.remove_prefix(static_cast<size_t>(end - in.data()) + 1);
  if (length > in.size()) return std::nullopt;
  std::string text(in.substr(0, length));
  in.remove_prefix(length);
  return text;
}

}  // namespace

std::string EncodeMetadata(const Metadata& metadata) {
  std::string out;
  for (const auto& [key, value] : metadata) {
    AppendText(out, key);
    AppendText(out, value);
  }
  return out;
}

std::optional<Metadata> DecodeMetadata(std::string_view text) {
  Metadata metadata;
  while (!text.empty()) {
    auto key = TakeText(text);
    if (!key.has_value()) return std::nullopt;
    auto value = TakeText(text);
    if (!value.has_value()) return std::nullopt;
    metadata.emplace(*std::move(key), *std::move(value));
  }
  return metadata;
}

}  // namespace snowlease::storage
