#pragma once

namespace snowlease::service {

// SIGTERM and SIGINT as something to wait for; also as PID 1, where their default
// action does nothing. Make it before any thread starts, once per process.
class StopSignals {
 public:
  StopSignals();
  // Blocks until the first signal and answers its name. A second one then ends the
  // process at once with exit code 128 + its number.
  const char* Wait();
};

}  // namespace snowlease::service
