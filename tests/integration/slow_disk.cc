// Preloaded into a server, makes every fsync take SLOW_DISK_MS longer, as on a busy or
// remote disk: how much the server can do is then known and the same on every machine.

#include <dlfcn.h>
#include <time.h>

#include <cstdlib>

namespace {

void Delay() {
  static const char* const text = std::getenv("SLOW_DISK_MS");
  if (text == nullptr) return;
  const long ms = std::atol(text);
  const timespec delay{ms / 1000, (ms % 1000) * 1'000'000};
  nanosleep(&delay, nullptr);
}

using Sync = int (*)(int);

int DelayedSync(const char* name, int file) {
  Delay();
  return reinterpret_cast<Sync>(dlsym(RTLD_NEXT, name))(file);
}

}  // namespace

extern "C" int fsync(int file) { return DelayedSync("fsync", file); }
extern "C" int fdatasync(int file) { return DelayedSync("fdatasync", file); }
