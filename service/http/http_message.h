#pragma once

#include <map>
#include <string>

namespace snowlease::service {

// A request as far as the routes need it, whatever library received it.
struct HttpRequest {
  std::string method;
  std::string path;                                 // without the query
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::string body;

  // Empty when there is none; the first of several.
  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
};

}  // namespace snowlease::service
