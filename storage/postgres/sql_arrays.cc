#include "storage/postgres/sql_arrays.h"

namespace snowlease::storage {

std::string HexOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\\x";
  out.reserve(2 + 2 * bytes.size());
  for (const char byte : bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4];
    out += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return out;
}

SqlArrays::SqlArrays(std::vector<std::string_view> types)
    : types_(std::move(types)), columns_(types_.size()) {}

void SqlArrays::Append(std::string& out, std::string_view text) {
  Separate(out);
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void SqlArrays::Append(std::string& out, const IncarnationId& id) {
  Append(out, HexOf({reinterpret_cast<const char*>(id.data()), id.size()}));
}

std::string SqlArrays::Unnest(size_t first) const {
  std::string text = "unnest(";
  for (size_t i = 0; i < types_.size(); ++i) {
    if (i > 0) text += ", ";
    text += "$" + std::to_string(first + i) + "::" + std::string(types_[i]);
  }
  return text + ")";
}

std::vector<std::string> SqlArrays::Parameters() const {
  std::vector<std::string> parameters;
  parameters.reserve(columns_.size());
  for (const std::string& column : columns_) parameters.push_back("{" + column + "}");
  return parameters;
}

}  // namespace snowlease::storage
