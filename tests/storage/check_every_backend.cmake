# cmake -DSTORAGE=... -DTESTS=... -P check_every_backend.cmake
#
# Fails when a backend, a folder of STORAGE with a *_lease_store.cc, does not
# instantiate the conformance suite: TESTS/<backend>_conformance_test.cc must do so, and
# TESTS/CMakeLists.txt must build it. Decorators are no backends.

file(GLOB stores RELATIVE ${STORAGE} ${STORAGE}/*/*_lease_store.cc)
list(FILTER stores EXCLUDE REGEX "^decorators/")
if(NOT stores)
  message(FATAL_ERROR "there is no backend in ${STORAGE}: is the path right?")
endif()
file(READ ${TESTS}/CMakeLists.txt build_file)
set(missing "")
foreach(store IN LISTS stores)
  get_filename_component(backend ${store} DIRECTORY)
  set(test ${TESTS}/${backend}_conformance_test.cc)
  set(text "")
  if(EXISTS ${test})
    file(READ ${test} text)
  endif()
  if(NOT text MATCHES "INSTANTIATE_TEST_SUITE_P\\([A-Za-z]+, LeaseStoreConformance,")
    string(APPEND missing "\n  ${backend}: ${test} does not instantiate LeaseStoreConformance")
  elseif(NOT build_file MATCHES "${backend}_conformance_test\\.cc")
    string(APPEND missing "\n  ${backend}: ${TESTS}/CMakeLists.txt does not build its test")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "backends without the conformance suite:${missing}")
endif()
list(LENGTH stores count)
message(STATUS "${count} backends instantiate the conformance suite")
