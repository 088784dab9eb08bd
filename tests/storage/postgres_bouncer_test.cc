#include "tests/storage/lease_store_conformance.h"
#include "tests/storage/postgres_harness.h"
#include "tests/testing/postgres_server.h"

// The suite through PgBouncer in transaction mode: no statement may count on the session
// of the one before. CMakeLists.txt chooses the tests of the short form.

namespace snowlease::testing {
namespace {

const Backend kPgBouncer = {"pgbouncer", [](const storage::StoreOptions& options) {
                              static PgBouncer bouncer(PostgresServer::Shared(), 2);
                              return std::make_unique<PostgresHarness>(
                                  options, PostgresServer::Shared().Url(), bouncer.Url());
                            }};

INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreConformance, ::testing::Values(kPgBouncer),
                         BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreClockSteps, ::testing::Values(kPgBouncer),
                         BackendName);
INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreLockstep, ::testing::Values(kPgBouncer), BackendName);

}  // namespace
}  // namespace snowlease::testing
