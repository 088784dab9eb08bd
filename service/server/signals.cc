#include "service/server/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "service/log/log.h"

namespace snowlease::service {
namespace {

constexpr int kExitOfSignal = 128;

sigset_t StopSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

int AwaitSignal() {
  const sigset_t set = StopSet();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return signal;
}

}  // namespace

void EndOnStopSignals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { _exit(kExitOfSignal + signal); };
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  const sigset_t set = StopSet();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

StopSignals::StopSignals() {
  const sigset_t set = StopSet();
  // Threads inherit the mask, so that only sigwait sees these signals.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

const char* StopSignals::Wait() {
  const int signal = AwaitSignal();
  std::thread([] {
    const int second = AwaitSignal();
    Log(LogLevel::kWarn, "a second signal: leaving at once");
    _exit(kExitOfSignal + second);
  }).detach();
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

}  // namespace snowlease::service
