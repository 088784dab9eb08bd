#include <cstdint>
#include <cstdio>

#include "service/log/log.h"

namespace snowlease::service {
namespace {

// Length of the UTF-8 sequence at the start of the text; 0: there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = byte(0) < 0x80                       ? 1
                        : byte(0) >= 0xC2 && byte(0) < 0xE0  ? 2
                        : byte(0) >= 0xE0 && byte(0) < 0xF0  ? 3
                        : byte(0) >= 0xF0 && byte(0) <= 0xF4 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool no_character =
      (byte(0) == 0xED && byte(1) >= 0xA0) || (byte(0) == 0xF4 && byte(1) >= 0x90);
  return overlong || no_character ? 0 : length;
}

}  // namespace

std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', text[0]};
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      char escaped[7];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      out += escaped;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

}  // namespace snowlease::service
