#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snowlease::client {

// A canonical unsigned decimal number: digits only, no leading zeros, fits 64 bits.
std::optional<uint64_t> ParseDecimal(std::string_view text);

// Characters of 0-9A-Za-z that hold any number of that many bits.
int Radix62Width(int bits);
// `value` in exactly `width` characters; the caller sees to it that it fits.
std::string ToRadix62(uint64_t value, int width);
// None for another character or more than 64 bits.
std::optional<uint64_t> FromRadix62(std::string_view text);

}  // namespace snowlease::client
