# header_checks compiles headers alone, each in a source of one line that is generated here: those
# that no source begins with. A header that a source includes first is compiled alone by that source.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h
     ${PROJECT_SOURCE_DIR}/include/*.hpp
     ${PROJECT_SOURCE_DIR}/src/*.h)
file(GLOB_RECURSE users CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp
     ${PROJECT_SOURCE_DIR}/tests/*_test.cpp)
set(included_first "")
foreach(user IN LISTS users)
  file(STRINGS ${user} include REGEX "^#include" LIMIT_COUNT 1)
  string(REGEX REPLACE "^#include [<\"]([^>\"]+)[>\"].*" "\\1" include "${include}")
  list(APPEND included_first ${include})
endforeach()
set(sources "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^${PROJECT_SOURCE_DIR}/(include|src)/" "" name ${header})
  if(name IN_LIST included_first)
    continue()
  endif()
  set(source ${CMAKE_BINARY_DIR}/header_checks/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@name@\"\n" @ONLY)
  list(APPEND sources ${source})
endforeach()
ng_isa_flags(${sources})
add_library(header_checks OBJECT EXCLUDE_FROM_ALL ${sources})
target_compile_options(header_checks PRIVATE -O0)
target_link_libraries(header_checks PRIVATE ng_options)
