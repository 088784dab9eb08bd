#pragma once

#include <string>
#include <vector>

#include "client/cli/console.h"
#include "google/protobuf/message.h"

namespace snowlease::cli {

// Columns as wide as their widest cell, two spaces between; an empty cell is "-".
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

  void Add(std::vector<std::string> cells);
  std::string Text(bool with_headings) const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

// A JSON object that is written field by field, in order.
class JsonObject {
 public:
  JsonObject& Text(const std::string& name, const std::string& value);
  // 64-bit numbers are strings, as in protobuf JSON.
  JsonObject& Integer64(const std::string& name, int64_t value);
  JsonObject& Number(const std::string& name, double value);
  JsonObject& Boolean(const std::string& name, bool value);
  // `json` as it is.
  JsonObject& Raw(const std::string& name, const std::string& json);

  std::string Json() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

// The name of an enum value without its prefix; of one that this version does not
// know ("" from protobuf): empty.
std::string WithoutPrefix(const std::string& name, const std::string& prefix);

std::string JsonArray(const std::vector<std::string>& elements);
// Protobuf JSON.
std::string ToJson(const google::protobuf::Message& message);

// Data to `out` in the wanted format.
void Print(Console& console, const GlobalOptions& options, const std::string& json,
           const Table& table);
void Print(Console& console, const GlobalOptions& options, const google::protobuf::Message& message,
           const Table& table);

}  // namespace snowlease::cli
