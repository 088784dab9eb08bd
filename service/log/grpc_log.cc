#include "service/log/grpc_log.h"

#include <grpc/support/log.h>

#include <string>

#include "service/log/log.h"

namespace snowlease::service {

void RedirectGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args* line) {
    Log(LogLevel::kDebug, line->message,
        {{"from", std::string(line->file) + ":" + std::to_string(line->line)}});
  });
}

}  // namespace snowlease::service
