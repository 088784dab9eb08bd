#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace snowlease::service {

// The byte at which the text stops being valid UTF-8 (overlong forms, surrogates and
// values above U+10FFFF are invalid); none: it is valid.
std::optional<size_t> InvalidUtf8At(std::string_view text);

// The byte of the first control character (U+0000..1F, U+007F..9F) of valid UTF-8.
std::optional<size_t> ControlCharacterAt(std::string_view text);

// At most `max_bytes` of the text, cut between characters, what is not UTF-8 replaced
// by '?'. Fit for a proto string.
std::string SafeText(std::string_view text, size_t max_bytes);

}  // namespace snowlease::service
