# `cmake --preset fuzz` configures tests/fuzz alone: clang compiles the readers, and links what g++
# made of the rest in a build folder of its own.
option(NARROWGAUGE_FUZZ "only the fuzz targets of tests/fuzz, with clang++" OFF)
set(NARROWGAUGE_FUZZ_PLAIN "${PROJECT_SOURCE_DIR}/build/release"
    CACHE PATH "build folder of g++, for all that is no reader")
