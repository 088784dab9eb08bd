#include "service/rpc/page_token.h"

#include <openssl/sha.h>

#include "absl/strings/escaping.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

constexpr char kVersion = 1;
constexpr size_t kDigestBytes = 8;

std::string Digest(std::string_view query, std::string_view position) {
  const std::string text = QueryKey({"snowlease page token", query, position});
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), kDigestBytes);
}

}  // namespace

std::string QueryKey(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
  }
  return key;
}

std::string EncodePageToken(std::string_view query, std::string_view position) {
  std::string token(1, kVersion);
  token += Digest(query, position);
  token += position;
  return absl::WebSafeBase64Escape(token);
}

absl::StatusOr<std::string> DecodePageToken(std::string_view query, const std::string& token) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(token, &bytes) || bytes.size() < 1 + kDigestBytes) {
    return storage::PageTokenInvalidError();
  }
  const std::string position = bytes.substr(1 + kDigestBytes);
  // Making it again checks version, digest and query, and refuses other spellings.
  if (EncodePageToken(query, position) != token) return storage::PageTokenInvalidError();
  return position;
}

}  // namespace snowlease::service
