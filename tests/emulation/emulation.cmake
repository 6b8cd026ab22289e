# ng_emulated_test(test): the test program once more, linked with kernels of AVX-512 and AMX that were
# compiled for every CPU. Their objects stand before the library, which then gives none of its own.
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.avx512.cpp
     ${PROJECT_SOURCE_DIR}/src/kernels/*.amx.cpp)
list(FILTER kernels EXCLUDE REGEX "/peak\\.")  # measures the units themselves
set(emulation ${CMAKE_CURRENT_SOURCE_DIR}/emulation)
add_library(ng_emulated OBJECT ${kernels} ${emulation}/tiles.cpp)
target_link_libraries(ng_emulated PRIVATE ng_options)
target_include_directories(ng_emulated BEFORE PRIVATE ${emulation} ${CMAKE_CURRENT_SOURCE_DIR})
# Vectors of 64 bytes are passed otherwise where a CPU has registers for them; all that pass them
# are compiled here.
target_compile_options(ng_emulated PRIVATE -include emulation/intrinsics.h -Wno-psabi
                                           $<$<CONFIG:Release>:-O2>)
add_library(ng_emulated_cpu OBJECT ${PROJECT_SOURCE_DIR}/src/base/cpu.cpp)
target_link_libraries(ng_emulated_cpu PRIVATE ng_options)
target_include_directories(ng_emulated_cpu BEFORE PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(ng_emulated_cpu PRIVATE -include emulation/cpu.h)

# Those that run kernels of AVX-512 or AMX and are quick enough.
set(emulated
    convert gradient_health pair_products pixel_convolution random_fill row_math simulated_product
    softmax tile_activation)
list(JOIN emulated "|" emulated)

function(ng_emulated_test test)
  add_executable(emulated_${test} $<TARGET_OBJECTS:${test}>)
  target_link_libraries(emulated_${test} PRIVATE ng_emulated ng_emulated_cpu ${NG_PREVIOUS_LAYER}
                                                 GTest::gtest_main)
  add_test(NAME emulated_${test} COMMAND emulated_${test})
  set_tests_properties(emulated_${test} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 300)
endfunction()
