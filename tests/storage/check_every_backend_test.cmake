# cmake -DSTORAGE=... -DTESTS=... -DWORK=... -P check_every_backend_test.cmake
#
# check_every_backend.cmake passes for this tree and fails for a tree with a backend
# that has no suite, one whose test does not instantiate it, and one that is not built.

set(check ${CMAKE_CURRENT_LIST_DIR}/check_every_backend.cmake)

function(expect outcome storage tests)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSTORAGE=${storage} -DTESTS=${tests} -P ${check}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(outcome STREQUAL "passes" AND NOT result EQUAL 0)
    message(FATAL_ERROR "the check should pass:\n${output}")
  elseif(outcome STREQUAL "fails" AND result EQUAL 0)
    message(FATAL_ERROR "the check should fail for ${tests}")
  elseif(outcome STREQUAL "fails" AND NOT output MATCHES "planted")
    message(FATAL_ERROR "the check fails without naming the backend:\n${output}")
  endif()
endfunction()

expect(passes ${STORAGE} ${TESTS})

file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/storage/planted/planted_lease_store.cc "")
file(WRITE ${WORK}/storage/decorators/some_lease_store.cc "")
file(WRITE ${WORK}/tests/CMakeLists.txt "")
expect(fails ${WORK}/storage ${WORK}/tests)
file(WRITE ${WORK}/tests/planted_conformance_test.cc "// LeaseStoreConformance")
expect(fails ${WORK}/storage ${WORK}/tests)
file(WRITE ${WORK}/tests/planted_conformance_test.cc
     "INSTANTIATE_TEST_SUITE_P(Backends, LeaseStoreConformance, Values(kPlanted));")
expect(fails ${WORK}/storage ${WORK}/tests)
file(WRITE ${WORK}/tests/CMakeLists.txt "SOURCES planted_conformance_test.cc")
expect(passes ${WORK}/storage ${WORK}/tests)
file(REMOVE_RECURSE ${WORK})
