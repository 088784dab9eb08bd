#pragma once

namespace snowlease::service {

// Sends gRPC's own log lines to ours at level debug: what they tell of is answered to
// callers or told in our words. GRPC_VERBOSITY decides how many there are. Call it
// before gRPC is used.
void RedirectGrpcLog();

}  // namespace snowlease::service
