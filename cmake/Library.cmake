# libnarrowgauge.so: all layers, with only what is marked NG_API visible, and how it is installed.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The objects themselves: out of archives the linker would take only what something asks for.
set(objects "")
foreach(layer IN LISTS NG_LAYERS)
  list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()
add_library(narrowgauge SHARED ${objects})
add_library(narrowgauge::narrowgauge ALIAS narrowgauge)
target_link_libraries(narrowgauge PRIVATE ${NG_PREVIOUS_LAYER})
target_include_directories(
  narrowgauge
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(narrowgauge PUBLIC cxx_std_20)

# Instances of std templates are visible whatever the compiler was told; the map hides them.
set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_options(narrowgauge PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections)
# Until 1.0 a minor version may change the binary interface.
set_target_properties(
  narrowgauge
  PROPERTIES LINKER_LANGUAGE CXX
             LINK_DEPENDS ${exports}
             VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# ng_rpath(target folder): where the bundled oneDNN is, in the build and installed. CMake ends an RPATH
# that it is to change at installation in a colon, and the loader takes the empty element behind it
# for the current folder; so one RPATH serves both.
function(ng_rpath target folder)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON
                                             INSTALL_RPATH_USE_LINK_PATH ON)
  if(NG_ONEDNN_BUNDLED)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "${folder};$ORIGIN/lib")
  endif()
endfunction()

# The bundled oneDNN has a folder of its own beside the library: in lib/ itself it would stand before
# the system's for every program.
set(NG_PRIVATE_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/narrowgauge)
ng_rpath(narrowgauge "$ORIGIN/narrowgauge")
if(NG_ONEDNN_BUNDLED)
  install(PROGRAMS ${NG_ONEDNN_BUNDLED} DESTINATION ${NG_PRIVATE_LIBRARIES} RENAME libdnnl.so.3)
  install(DIRECTORY ${NARROWGAUGE_ONEDNN_ROOT}/licenses/
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/oneDNN OPTIONAL)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/narrowgauge)
install(TARGETS narrowgauge EXPORT narrowgauge_targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${CMAKE_BINARY_DIR}/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN "*.hpp")
install(EXPORT narrowgauge_targets NAMESPACE narrowgauge:: FILE narrowgauge-config.cmake
        DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/narrowgauge-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/narrowgauge-config-version.cmake DESTINATION ${package_folder})

file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/narrowgauge.pc.in ${CMAKE_BINARY_DIR}/narrowgauge.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/narrowgauge.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
