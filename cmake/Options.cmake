# Language, warnings and the project's switches.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(FATAL_ERROR "narrowgauge runs on x86-64; this is ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ 12 or later is needed; this is ${CMAKE_CXX_COMPILER_VERSION}")
endif()

option(NARROWGAUGE_TESTS "build the tests" ON)
option(NARROWGAUGE_BENCH "target benchmarks" ON)
set(NARROWGAUGE_SANITIZE "" CACHE STRING "sanitizer: address, undefined or thread")

# With precompiled headers ccache finds little, and may give an outdated header.
find_program(CCACHE ccache)
if(CCACHE AND CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(PROTOZERO_INCLUDE protozero/pbf_writer.hpp REQUIRED)  # it brings no package for CMake
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE})
find_path(WEBP_INCLUDE webp/decode.h REQUIRED)  # Debian's brings none either
find_library(WEBP_LIBRARY webp REQUIRED)
add_library(webp INTERFACE)
target_include_directories(webp SYSTEM INTERFACE ${WEBP_INCLUDE})
target_link_libraries(webp INTERFACE ${WEBP_LIBRARY})
find_path(SNDFILE_INCLUDE sndfile.h REQUIRED)
find_library(SNDFILE_LIBRARY sndfile REQUIRED)
add_library(sndfile INTERFACE)
target_include_directories(sndfile SYSTEM INTERFACE ${SNDFILE_INCLUDE})
target_link_libraries(sndfile INTERFACE ${SNDFILE_LIBRARY})
find_path(KISSFFT_INCLUDE kissfft/kiss_fftr.h REQUIRED)
find_library(KISSFFT_LIBRARY kissfft-float REQUIRED)
add_library(kissfft INTERFACE)
target_include_directories(kissfft SYSTEM INTERFACE ${KISSFFT_INCLUDE})
target_link_libraries(kissfft INTERFACE ${KISSFFT_LIBRARY})
find_path(UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(utf8proc INTERFACE)
target_include_directories(utf8proc SYSTEM INTERFACE ${UTF8PROC_INCLUDE})
target_link_libraries(utf8proc INTERFACE ${UTF8PROC_LIBRARY})

# AVX2 is the least CPU that is supported. Contraction of a*b+c is off, so that a formula gives the
# same bits on every CPU; kernels that want FMA say so. A symbol that is unique in the process would
# keep the library mapped after dlclose().
add_library(ng_options INTERFACE)
set(shadow -Wshadow)
if(NARROWGAUGE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(shadow -Wshadow=local)  # a local name may be that of a function in another source
endif()
target_compile_options(
  ng_options
  INTERFACE -march=x86-64-v3 -fno-gnu-unique -fno-math-errno -fno-trapping-math -ffp-contract=off
            -Wall -Wextra -Wpedantic -Wconversion ${shadow} -fopenmp-simd)
# With its own limit of 128 MiB g++ looks for garbage many times in a source, which is a tenth of its
# time. A quarter of the memory that there is for each core is left to one compiler at most.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR share "${memory} / ${cores} / 4")
  if(share GREATER 640)
    set(share 640)
  endif()
  if(share GREATER 128)
    math(EXPR share "${share} * 1024")
    target_compile_options(ng_options INTERFACE --param=ggc-min-heapsize=${share})
  endif()
endif()
# What protects against broken memory. Sanitizers see more, and checked functions hide from them.
set(NARROWGAUGE_HARDENED OFF)
if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT NARROWGAUGE_SANITIZE)
  set(NARROWGAUGE_HARDENED ON)
  target_compile_options(ng_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE
                                              -D_FORTIFY_SOURCE=2)
endif()
target_link_options(ng_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in
               ${CMAKE_BINARY_DIR}/include/narrowgauge/version.h @ONLY)
target_include_directories(
  ng_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include
                       ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(ng_options INTERFACE Threads::Threads)
if(NARROWGAUGE_SANITIZE)
  # Among the checks that sanitizers add, GCC 12 warns of faults that are not there.
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
  target_compile_options(ng_options INTERFACE -fsanitize=${NARROWGAUGE_SANITIZE}
                                              -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ng_options INTERFACE -fsanitize=${NARROWGAUGE_SANITIZE})
endif()
