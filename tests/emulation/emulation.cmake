# Tests once more, in programs linked with kernels of AVX-512 and AMX that were compiled for every CPU.
# Their objects stand before the library, which then gives none of its own. Emulation takes ten times
# as long: `./run check` runs every fourth case, `./run check-all` all.
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.avx512.cpp
     ${PROJECT_SOURCE_DIR}/src/kernels/*.amx.cpp
     ${PROJECT_SOURCE_DIR}/src/units/*.avx512.cpp)
list(FILTER kernels EXCLUDE REGEX "/peak\\.")  # measures the units themselves
set(emulation ${CMAKE_CURRENT_SOURCE_DIR}/emulation)
add_library(ng_emulation INTERFACE)
target_link_libraries(ng_emulation INTERFACE ng_options)
target_include_directories(ng_emulation BEFORE INTERFACE ${emulation} ${CMAKE_CURRENT_SOURCE_DIR})
# Vectors of 64 bytes are passed otherwise where a CPU has registers for them; all that pass them
# are compiled so.
target_compile_options(ng_emulation INTERFACE -include emulation/intrinsics.h -Wno-psabi
                                              $<$<CONFIG:Release>:-Og>)
add_library(ng_emulated OBJECT ${kernels} ${emulation}/tiles.cpp)
target_link_libraries(ng_emulated PRIVATE ng_emulation)

# What these say of the CPU.
function(ng_emulated_source target source header)
  add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/src/${source})
  target_link_libraries(${target} PRIVATE ng_options)
  target_include_directories(${target} BEFORE PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -include emulation/${header} $<$<CONFIG:Release>:-Og>)
endfunction()
ng_emulated_source(ng_emulated_cpu base/machine/cpu.cpp cpu.h)
ng_emulated_source(ng_emulated_strips ops/elementwise/strip_program.cpp strips.h)

# Every kernel of AVX-512 or AMX is run by one of them.
set(emulated
    kernels_attention
    kernels_batch_inner_convolution
    kernels_column_sums
    kernels_convert
    kernels_float_bottleneck
    kernels_float_convolution
    kernels_float_product
    kernels_gradient_health
    kernels_int8
    kernels_narrow_depthwise
    kernels_narrow_image
    kernels_pair_convolution
    kernels_pair_products
    kernels_pixel_convolution
    kernels_pixel_tiles
    kernels_quantized_convolution
    kernels_quantized_finish
    kernels_random_fill
    kernels_row_math
    kernels_softmax
    kernels_tile_activation
    kernels_tile_gemm
    ops_batch_inner
    ops_pixel_convolution
    groups_activate
    groups_bounded
    groups_byte_sum
    units_own_units
    units_simulated_product)
# Has intrinsics of its own, and is compiled for every CPU too.
add_executable(emulated_units_own_units_test units/own_units_test.cpp)
target_link_libraries(emulated_units_own_units_test PRIVATE ng_emulation)
set(emulated_programs emulated_units_own_units_test)
foreach(program kernels_tests ops_tests groups_tests units_tests)
  add_executable(emulated_${program} $<TARGET_OBJECTS:${program}>)
  list(APPEND emulated_programs emulated_${program})
endforeach()
foreach(program IN LISTS emulated_programs)
  target_link_libraries(${program} PRIVATE ng_emulated ng_emulated_cpu ng_emulated_strips ng_testing
                                           ng_samples ${NG_PREVIOUS_LAYER} GTest::gtest)
endforeach()

foreach(stem IN LISTS emulated)
  string(REGEX REPLACE "^([a-z]+)_(.*)" "\\1/\\2_test.cpp" source ${stem})
  string(REGEX REPLACE "_.*" "_tests" program ${stem})
  if(${stem}_test IN_LIST alone)
    set(program ${stem}_test)
  endif()
  ng_test(emulated_${stem}_test emulated_${program} ${source})
  ng_test(emulated_${stem}_test_whole emulated_${program} ${source})
  set_tests_properties(
    emulated_${stem}_test
    PROPERTIES ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=0")
endforeach()
# The longest of them; the others run beside it.
set_tests_properties(emulated_kernels_quantized_convolution_test PROPERTIES COST 900)
