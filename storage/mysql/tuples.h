#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "storage/time_point.h"

namespace snowlease::storage::mysql {

// x'...': a literal for any bytes that no sql_mode and no character set can change.
std::string Hex(std::string_view bytes);

// Rows of values as text: for VALUES, or as JSON for JSON_TABLE, where bytes are
// hexadecimal digits (to be turned back by UNHEX) and nothing needs to be quoted.
class Tuples {
 public:
  enum class Style : uint8_t { kValues, kJson };

  explicit Tuples(Style style) : style_(style) {}

  template <typename... Values>
  void Add(const Values&... values) {
    text_ += text_.empty() ? "" : ",";
    text_ += style_ == Style::kJson ? '[' : '(';
    const size_t start = text_.size();
    ((Separate(start), Append(values)), ...);
    text_ += style_ == Style::kJson ? ']' : ')';
    ++count_;
  }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // "(1,x'61'),(2,NULL)", or "[[1,"61"],[2,null]]".
  std::string text() const { return style_ == Style::kJson ? "[" + text_ + "]" : text_; }

 private:
  void Separate(size_t start) {
    if (text_.size() > start) text_ += ',';
  }
  void AppendNumber(int64_t value);
  void AppendBytes(std::string_view bytes);

  void Append(const std::string& bytes) { AppendBytes(bytes); }
  void Append(const std::array<uint8_t, 16>& id) {
    AppendBytes({reinterpret_cast<const char*>(id.data()), id.size()});
  }
  void Append(Millis value) { AppendNumber(value.count()); }
  template <typename Tag>
  void Append(TimePoint<Tag> time) {
    AppendNumber(time.ms);
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void Append(Number value) { AppendNumber(static_cast<int64_t>(value)); }
  template <typename T>
  void Append(const std::optional<T>& value) {
    if (value.has_value()) {
      Append(*value);
    } else {
      text_ += style_ == Style::kJson ? "null" : "NULL";
    }
  }

  const Style style_;
  std::string text_;
  size_t count_ = 0;
};

}  // namespace snowlease::storage::mysql
