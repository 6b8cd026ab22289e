# libnarrowgauge.so: all layers, with only NG_API visible.
add_library(narrowgauge SHARED ${PROJECT_SOURCE_DIR}/cmake/library.cpp)
list(JOIN NG_LAYERS "," layer_list)
foreach(layer IN LISTS NG_LAYERS)
  target_link_libraries(narrowgauge PRIVATE -Wl,--whole-archive ${layer} -Wl,--no-whole-archive)
endforeach()
target_include_directories(narrowgauge PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:include>)
target_compile_features(narrowgauge PUBLIC cxx_std_20)
