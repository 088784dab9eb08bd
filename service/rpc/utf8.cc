#include "service/rpc/utf8.h"

#include <cstdint>

namespace snowlease::service {
namespace {

struct Character {
  uint32_t value = 0;
  size_t length = 0;  // 0: invalid
};

Character Decode(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  size_t length = 0;
  uint32_t value = 0;
  uint32_t least = 0;  // smaller values have a shorter form
  if ((first & 0xE0) == 0xC0) {
    length = 2, value = first & 0x1F, least = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3, value = first & 0x0F, least = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    length = 4, value = first & 0x07, least = 0x10000;
  }
  if (length == 0 || text.size() < length) return {};
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < least || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

}  // namespace

std::optional<size_t> InvalidUtf8At(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = Decode(text.substr(i)).length;
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::optional<size_t> ControlCharacterAt(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Character c = Decode(text.substr(i));
    if (c.length == 0) return std::nullopt;
    if (c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0)) return i;
    i += c.length;
  }
  return std::nullopt;
}

std::string SafeText(std::string_view text, size_t max_bytes) {
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Decode(text.substr(i)).length;
    const std::string_view next = length == 0 ? std::string_view("?") : text.substr(i, length);
    if (safe.size() + next.size() > max_bytes) break;
    safe += next;
    i += next.size();
  }
  return safe;
}

}  // namespace snowlease::service
