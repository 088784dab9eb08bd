#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/lease.h"

// Owner metadata as one column: "<length>:<bytes>" for each key and value in turn, so
// that any byte may stand in either.

namespace snowlease::storage {

std::string EncodeMetadata(const Metadata& metadata);
// None when the text was not made by EncodeMetadata.
std::optional<Metadata> DecodeMetadata(std::string_view text);

}  // namespace snowlease::storage
