option(SNOWLEASE_GRPC "Build what needs gRPC: the server, the client and the command line" ON)
option(SNOWLEASE_SQLITE "Build the SQLite store" ON)
option(SNOWLEASE_POSTGRES "Build the PostgreSQL store" ON)
option(SNOWLEASE_TESTS "Build the tests" ON)
option(SNOWLEASE_BENCHMARKS "Build the benchmarks" ON)
option(SNOWLEASE_PCH "Precompile the heavy headers" ON)
set(SNOWLEASE_SANITIZE "" CACHE STRING "Sanitizers: empty, address,undefined or thread")
set(SNOWLEASE_GOOGLEAPIS_DIR "${CMAKE_SOURCE_DIR}/.deps/googleapis" CACHE PATH
    "Folder that holds google/rpc/*.proto; scripts/setup fills the default")
