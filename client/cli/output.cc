#include "client/cli/output.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_text.h"
#include "google/protobuf/util/json_util.h"

namespace snowlease::cli {
namespace {

// Characters as a terminal shows them, but for wide ones: bytes that start a character.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char character) {
    return (static_cast<unsigned char>(character) & 0xc0) != 0x80;
  }));
}

std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size()) line.append(widths[i] - Width(cells[i]) + 2, ' ');
  }
  return line + "\n";
}

}  // namespace

void Table::Add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    if (cell.empty()) cell.assign(1, '-');
  }
  rows_.push_back(std::move(cells));
}

std::string Table::Text(bool with_headings) const {
  std::vector<size_t> widths(headings_.size(), 0);
  const auto measure = [&widths](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], Width(cells[i]));
  };
  if (with_headings) measure(headings_);
  for (const auto& row : rows_) measure(row);
  std::string text;
  if (with_headings) text += Line(headings_, widths);
  for (const auto& row : rows_) text += Line(row, widths);
  return text;
}

JsonObject& JsonObject::Raw(const std::string& name, const std::string& json) {
  if (!fields_.empty()) fields_ += ",";
  absl::StrAppend(&fields_, JsonString(name), ":", json);
  return *this;
}

JsonObject& JsonObject::Text(const std::string& name, const std::string& value) {
  return Raw(name, JsonString(value));
}

JsonObject& JsonObject::Integer64(const std::string& name, int64_t value) {
  return Raw(name, absl::StrCat("\"", value, "\""));
}

JsonObject& JsonObject::Number(const std::string& name, double value) {
  return Raw(name, absl::StrFormat("%.12g", value));
}

JsonObject& JsonObject::Boolean(const std::string& name, bool value) {
  return Raw(name, value ? "true" : "false");
}

std::string WithoutPrefix(const std::string& name, const std::string& prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

std::string JsonArray(const std::vector<std::string>& elements) {
  std::string text = "[";
  for (const std::string& element : elements) {
    if (text.size() > 1) text += ",";
    text += element;
  }
  return text + "]";
}

std::string ToJson(const google::protobuf::Message& message) {
  std::string json;
  // Fails on text that is not UTF-8 only, which a parsed message cannot hold.
  if (!google::protobuf::util::MessageToJsonString(message, &json).ok()) json = "{}";
  return json;
}

void Print(Console& console, const GlobalOptions& options, const std::string& json,
           const Table& table) {
  switch (options.output) {
    case OutputFormat::kTable:
      console.out << table.Text(!options.no_headers);
      break;
    case OutputFormat::kJson:
      console.out << PrettyJson(json);
      break;
    case OutputFormat::kYaml:
      console.out << ToYaml(json);
      break;
  }
}

void Print(Console& console, const GlobalOptions& options, const google::protobuf::Message& message,
           const Table& table) {
  Print(console, options, ToJson(message), table);
}

}  // namespace snowlease::cli
