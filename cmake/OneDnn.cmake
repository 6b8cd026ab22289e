# Target oneDNN, version >= 3.2 on OpenMP: the system's where it is that new, else the wheels that
# ./run unpacks into NARROWGAUGE_ONEDNN_ROOT, which is then installed beside the library.
set(NARROWGAUGE_ONEDNN_ROOT ${CMAKE_BINARY_DIR}/onednn CACHE PATH "where oneDNN is unpacked")
set(NG_ONEDNN_BUNDLED "")

# Another thread pool than ours (TBB, SYCL) would fight with it for the cores.
find_package(dnnl 3.2 CONFIG QUIET)
if(dnnl_FOUND AND DNNL_CPU_RUNTIME STREQUAL OMP)
  message(STATUS "oneDNN: the system's ${dnnl_VERSION}")
  add_library(oneDNN INTERFACE IMPORTED)
  target_link_libraries(oneDNN INTERFACE DNNL::dnnl)
  return()
endif()

find_path(ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp PATHS ${NARROWGAUGE_ONEDNN_ROOT}/include
          NO_DEFAULT_PATH)
find_file(ONEDNN_LIBRARY libdnnl.so.3 PATHS ${NARROWGAUGE_ONEDNN_ROOT}/lib NO_DEFAULT_PATH)
if(NOT ONEDNN_INCLUDE OR NOT ONEDNN_LIBRARY)
  message(FATAL_ERROR "oneDNN >= 3.2 is neither installed nor in ${NARROWGAUGE_ONEDNN_ROOT}: "
                      "`./run build` unpacks it there")
endif()
message(STATUS "oneDNN: ${NARROWGAUGE_ONEDNN_ROOT}")

# A link inside the build folder lets $ORIGIN reach the library wherever the root is.
file(REAL_PATH ${CMAKE_BINARY_DIR} build_folder)
file(REAL_PATH ${ONEDNN_LIBRARY} NG_ONEDNN_BUNDLED)
file(RELATIVE_PATH library_from_link ${build_folder}/lib ${NG_ONEDNN_BUNDLED})
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
file(CREATE_LINK ${library_from_link} ${CMAKE_BINARY_DIR}/lib/libdnnl.so.3 SYMBOLIC)

add_library(oneDNN SHARED IMPORTED)
set_target_properties(oneDNN PROPERTIES IMPORTED_LOCATION ${CMAKE_BINARY_DIR}/lib/libdnnl.so.3
                                        IMPORTED_SONAME libdnnl.so.3)
target_include_directories(oneDNN SYSTEM INTERFACE ${ONEDNN_INCLUDE})
