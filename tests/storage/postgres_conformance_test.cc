#include "tests/storage/lease_store_conformance.h"
#include "tests/storage/postgres_harness.h"
#include "tests/testing/postgres_server.h"

namespace snowlease::testing {
namespace {

const Backend kPostgres = {"postgres", [](const storage::StoreOptions& options) {
                             const std::string url = PostgresServer::Shared().Url();
                             return std::make_unique<PostgresHarness>(options, url, url);
                           }};

INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreConformance, ::testing::Values(kPostgres),
                         BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreClockSteps, ::testing::Values(kPostgres), BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreLockstep, ::testing::Values(kPostgres), BackendName);

}  // namespace
}  // namespace snowlease::testing
