#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "storage/lease.h"

namespace snowlease::storage {

// Bytes as PostgreSQL writes them: \x and hex digits.
std::string HexOf(std::string_view bytes);

// The rows that a statement takes as one array for each column. Values are appended in
// the order of the columns; the arrays are PostgreSQL's text form of arrays.
class SqlArrays {
 public:
  // Names of array types, for example {"text[]", "bigint[]"}.
  explicit SqlArrays(std::vector<std::string_view> types);

  template <typename... Values>
  void AddRow(const Values&... values) {
    size_t column = 0;
    (Append(columns_[column++], values), ...);
    ++rows_;
  }

  size_t rows() const { return rows_; }
  // "unnest($1::text[], $2::bigint[])"; the first parameter has the number `first`.
  std::string Unnest(size_t first = 1) const;
  // The arrays in the order of the columns.
  std::vector<std::string> Parameters() const;

 private:
  static void Separate(std::string& out) {
    if (!out.empty()) out += ',';
  }
  static void Append(std::string& out, std::string_view text);
  static void Append(std::string& out, const std::string& text) {
    Append(out, std::string_view(text));
  }
  static void Append(std::string& out, const IncarnationId& id);
  template <typename T>
  requires(std::integral<T> || std::is_enum_v<T>) static void Append(std::string& out, T value) {
    Separate(out);
    out += std::to_string(static_cast<int64_t>(value));
  }
  static void Append(std::string& out, bool value) {
    Separate(out);
    out += value ? 't' : 'f';
  }
  static void Append(std::string& out, Millis value) { Append(out, value.count()); }
  template <typename Tag>
  static void Append(std::string& out, TimePoint<Tag> time) {
    Append(out, time.ms);
  }
  template <typename T>
  static void Append(std::string& out, const std::optional<T>& value) {
    if (value.has_value()) return Append(out, *value);
    Separate(out);
    out += "NULL";
  }

  const std::vector<std::string_view> types_;
  std::vector<std::string> columns_;
  size_t rows_ = 0;
};

}  // namespace snowlease::storage
