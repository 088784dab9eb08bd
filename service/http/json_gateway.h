#pragma once

#include <functional>
#include <map>
#include <string>

#include "service/http/call_limit.h"
#include "service/http/http_message.h"
#include "service/rpc/admin_handler.h"
#include "service/rpc/machine_id_handler.h"
#include "storage/clock.h"

namespace snowlease::service {

// The API as JSON over HTTP: POST /v1/machine-ids:claim (renew, release, watermark)
// and /v1/admin:listNamespaces and so on, the RPC's name in lowerCamelCase. Bodies and
// answers are the protobuf JSON of the RPC's messages, errors google.rpc.Status.
// Calls block until they are answered or `timeout` has passed; when `max_calls` wait
// for a store that does not answer, more are refused as OVERLOADED, so that threads are
// left for health and metrics. Thread-safe.
class JsonGateway {
 public:
  // What it points to must outlive it, and callers' answers must have come before it
  // ends: drain the committer first.
  JsonGateway(MachineIdHandler* machine_ids, AdminHandler* admin, storage::Clock* clock,
              storage::Millis timeout, int max_calls);

  bool Has(const std::string& path) const { return calls_.count(path) > 0; }
  // Answers 404 for a path it has not.
  HttpResponse Call(const std::string& path, const std::string& body) const;

 private:
  using BodyCall = std::function<HttpResponse(const std::string& body)>;

  template <typename Request, typename Response>
  void AddMachineIds(const std::string& name,
                     void (MachineIdHandler::*method)(const Request&, const CallContext&,
                                                      MachineIdHandler::Done<Response>));
  template <typename Request, typename Response>
  void AddAdmin(const std::string& name,
                absl::StatusOr<Response> (AdminHandler::*method)(const Request&,
                                                                 const CallContext&));
  CallContext NewContext() const;

  MachineIdHandler* const machine_ids_;
  AdminHandler* const admin_;
  storage::Clock* const clock_;
  const storage::Millis timeout_;
  mutable CallLimit limit_;
  std::map<std::string, BodyCall> calls_;
};

}  // namespace snowlease::service
