#include "client/cpp/src/digits.h"

#include <charconv>

namespace snowlease::client {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

}  // namespace

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

int Radix62Width(int bits) {
  int width = 1;
  Wide reach = 62;
  while (reach < static_cast<Wide>(1) << bits) {
    reach *= 62;
    ++width;
  }
  return width;
}

std::string ToRadix62(uint64_t value, int width) {
  std::string text(static_cast<size_t>(width), '0');
  for (auto character = text.rbegin(); character != text.rend(); ++character) {
    *character = kAlphabet[value % 62];
    value /= 62;
  }
  return text;
}

std::optional<uint64_t> FromRadix62(std::string_view text) {
  Wide value = 0;
  for (const char character : text) {
    const size_t digit = kAlphabet.find(character);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 62 + digit;
    if (value > UINT64_MAX) return std::nullopt;
  }
  return static_cast<uint64_t>(value);
}

}  // namespace snowlease::client
