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

// For commands that do one thing and leave: SIGTERM and SIGINT end the process at once with
// exit code 128 + their number, also as PID 1 and where a parent had them blocked or
// ignored. What a store has not committed has not happened then.
void EndOnStopSignals();

}  // namespace snowlease::service
