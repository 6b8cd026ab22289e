# header_checks compiles every header alone: each in a source of one line that is generated here.
# oneDNN is not on its path of headers: only .cpp files may include that.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h
     ${PROJECT_SOURCE_DIR}/src/*.h)
set(sources "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^${PROJECT_SOURCE_DIR}/(include|src)/" "" name ${header})
  set(source ${CMAKE_BINARY_DIR}/header_checks/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@name@\"\n" @ONLY)
  list(APPEND sources ${source})
endforeach()
ng_isa_flags(${sources})
add_library(header_checks OBJECT EXCLUDE_FROM_ALL ${sources})
target_compile_options(header_checks PRIVATE -O0)
target_link_libraries(header_checks PRIVATE ng_options)
