#pragma once

namespace snowlease::service {

// The server's version, from the build.
extern const char kVersion[];

}  // namespace snowlease::service
