#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace snowlease::service {

// An opaque token for the page that starts at `position` of the query. Any server
// can read it; it is no secret and grants nothing.
std::string EncodePageToken(std::string_view query, std::string_view position);

// The position. Errors: PAGE_TOKEN_INVALID when it was not made for this query.
absl::StatusOr<std::string> DecodePageToken(std::string_view query, const std::string& token);

// Joins the parts of a query without ambiguity.
std::string QueryKey(std::initializer_list<std::string_view> parts);

}  // namespace snowlease::service
