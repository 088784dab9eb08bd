#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "snowlease/v1/machine_id.grpc.pb.h"

// The client of the end-to-end tests: one behaviour per command. Each runs until its
// work is done or standard input ends, prints JSON lines and returns the exit code.

namespace snowlease::testing {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Prints one JSON object of texts at once. Thread-safe.
void Report(const Fields& fields);
// Blocks until standard input ends.
void WaitForEndOfInput();
int64_t NowMs();

// A channel that shares no connection with any other.
std::shared_ptr<grpc::Channel> OwnChannel(const std::string& server);
// 20 bits, default safe guard duration, a new incarnation.
v1::ClaimRequest NewClaim(const std::string& name_space, const std::string& instance_id);
// The ErrorInfo reason, or "code N" where there is none.
std::string ReasonOf(const grpc::Status& status);

// Claims, renews and releases in `threads` threads with the client library's defaults,
// and reports every answer; every second lease stays held.
int Hold(const std::string& server, const std::string& name_space, int threads);

// Claims without retries for `seconds`: `rate` calls a second whatever the answers
// (0: `outstanding` calls at a time), then reports counts and latencies.
struct FloodPlan {
  int rate = 0;
  double seconds = 1;
  int outstanding = 1;
};
int Flood(const std::string& server, const std::string& name_space, const FloodPlan& plan);

// Renews `leases` leases over one KeepAlive stream, message by message, until the
// server ends it, and reports how it ended.
int Stream(const std::string& server, const std::string& name_space, int leases);

// Opens `count` connections with one call each and keeps them until input ends.
int Connections(const std::string& server, const std::string& name_space, int count);

// Sends the bytes that standard input has in hex as the request of a unary method,
// named "/package.Service/Method", and reports the status and the answer's bytes.
int Raw(const std::string& server, const std::string& method);

}  // namespace snowlease::testing
