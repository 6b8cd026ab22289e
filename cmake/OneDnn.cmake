# oneDNN >= 3.2: the system's where it is that new, else the wheels that ./run unpacks into
# NARROWGAUGE_ONEDNN_ROOT (the build folder's onednn/).
set(NARROWGAUGE_ONEDNN_ROOT ${CMAKE_BINARY_DIR}/onednn CACHE PATH "where oneDNN is unpacked")
find_path(ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp PATHS ${NARROWGAUGE_ONEDNN_ROOT}/include REQUIRED
          NO_DEFAULT_PATH)
find_library(ONEDNN_LIBRARY NAMES libdnnl.so.3 dnnl PATHS ${NARROWGAUGE_ONEDNN_ROOT}/lib REQUIRED
             NO_DEFAULT_PATH)
add_library(oneDNN SHARED IMPORTED)
set_target_properties(oneDNN PROPERTIES IMPORTED_LOCATION ${ONEDNN_LIBRARY}
                                        IMPORTED_NO_SONAME OFF)
target_include_directories(oneDNN SYSTEM INTERFACE ${ONEDNN_INCLUDE})
