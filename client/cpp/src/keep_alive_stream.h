#pragma once

#include <memory>

#include "client/cpp/src/endpoint_pool.h"
#include "snowlease/clock.h"
#include "snowlease/keep_alive.h"
#include "snowlease/retry_policy.h"

namespace snowlease::client {

std::unique_ptr<KeepAliveStream> NewKeepAliveStream(const KeepAliveOptions& options,
                                                    const RetryOptions& retry,
                                                    std::shared_ptr<EndpointPool> endpoints,
                                                    Clock* clock);

}  // namespace snowlease::client
