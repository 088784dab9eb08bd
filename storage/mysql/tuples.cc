#include "storage/mysql/tuples.h"

#include <charconv>

namespace snowlease::storage::mysql {
namespace {

void AppendHex(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

}  // namespace

std::string Hex(std::string_view bytes) {
  std::string out = "x'";
  AppendHex(out, bytes);
  return out + "'";
}

void Tuples::AppendNumber(int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  static_cast<void>(error);
  text_.append(digits, end);
}

void Tuples::AppendBytes(std::string_view bytes) {
  text_ += style_ == Style::kJson ? "\"" : "x'";
  AppendHex(text_, bytes);
  text_ += style_ == Style::kJson ? '"' : '\'';
}

}  // namespace snowlease::storage::mysql
