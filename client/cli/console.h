#pragma once

#include <istream>
#include <ostream>
#include <string>

namespace snowlease::cli {

// Where the program reads and writes: data to `out`, talk to `err`.
struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false;
  bool err_is_terminal = false;
  // Terminal without NO_COLOR.
  bool color = false;
};

enum class OutputFormat { kTable, kJson, kYaml };

// What every command knows.
struct GlobalOptions {
  std::string server = "127.0.0.1:7070";
  OutputFormat output = OutputFormat::kTable;
  bool no_headers = false;
  int64_t timeout_ms = 10000;

  bool tls = false;
  std::string ca_file;
  std::string server_name;
  std::string cert_file;
  std::string key_file;
};

}  // namespace snowlease::cli
