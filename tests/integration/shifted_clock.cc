// Preloaded into a server, moves its wall clock by the milliseconds (a native int64)
// that the file SHIFTED_CLOCK_FILE holds at the moment.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

const volatile int64_t* Map() {
  static const int64_t none = 0;
  const char* const path = std::getenv("SHIFTED_CLOCK_FILE");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &none;
  void* const memory = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? &none : static_cast<const volatile int64_t*>(memory);
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* time) {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, id, time));
  if (result != 0 || id != CLOCK_REALTIME) return result;
  static const volatile int64_t* const shift_ms = Map();
  const int64_t nanos = time->tv_nsec + *shift_ms * kNanosPerMs;
  const int64_t rest = ((nanos % kNanosPerSecond) + kNanosPerSecond) % kNanosPerSecond;
  time->tv_sec += (nanos - rest) / kNanosPerSecond;
  time->tv_nsec = rest;
  return 0;
}
