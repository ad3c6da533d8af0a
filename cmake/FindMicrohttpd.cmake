# Microhttpd::Microhttpd: GNU libmicrohttpd, an HTTP/1.1 server in a library, as packaged by Debian and Ubuntu, without
# a CMake config file.
find_path(MICROHTTPD_INCLUDE_DIR microhttpd.h)
find_library(MICROHTTPD_LIBRARY microhttpd)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Microhttpd DEFAULT_MSG MICROHTTPD_LIBRARY MICROHTTPD_INCLUDE_DIR)
mark_as_advanced(MICROHTTPD_INCLUDE_DIR MICROHTTPD_LIBRARY)
if(Microhttpd_FOUND AND NOT TARGET Microhttpd::Microhttpd)
  add_library(Microhttpd::Microhttpd UNKNOWN IMPORTED)
  set_target_properties(Microhttpd::Microhttpd PROPERTIES IMPORTED_LOCATION "${MICROHTTPD_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MICROHTTPD_INCLUDE_DIR}")
endif()
