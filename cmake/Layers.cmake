# ng_layer(name [libraries...]): a static library of src/<name>, linked to the layer before it. The
# folder is the list of sources. Between ng_fork() and ng_join() layers stand side by side.
include(Isa)
set(NG_LAYERS "")
set(NG_PREVIOUS_LAYER ng_options)  # what a layer to the right links: several after ng_join()
function(ng_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  if(name STREQUAL ops)
    ng_op_table(${sources})
    list(APPEND sources ${CMAKE_BINARY_DIR}/op_table.cpp)
  endif()
  if(NARROWGAUGE_FUZZ)  # which compiles the readers itself, and takes what g++ made of the rest
    add_library(ng_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(
      ng_${name} PROPERTIES IMPORTED_LOCATION ${NARROWGAUGE_FUZZ_PLAIN}/libng_${name}.a
                            INTERFACE_LINK_LIBRARIES "${NG_PREVIOUS_LAYER};${ARGN}")
  else()
    add_library(ng_${name} STATIC ${sources})
    target_link_libraries(ng_${name} PUBLIC ${NG_PREVIOUS_LAYER} PRIVATE ${ARGN})
    ng_isa_flags(${sources})
  endif()
  set(NG_LAYERS ${NG_LAYERS} ng_${name} PARENT_SCOPE)
  if(NG_FORKED)
    set(NG_SIDE_BY_SIDE ${NG_SIDE_BY_SIDE} ng_${name} PARENT_SCOPE)
  else()
    set(NG_PREVIOUS_LAYER ng_${name} PARENT_SCOPE)
  endif()
endfunction()

macro(ng_fork)
  set(NG_FORKED ON)
  set(NG_SIDE_BY_SIDE "")
endmacro()

macro(ng_join)
  set(NG_FORKED OFF)
  if(NG_SIDE_BY_SIDE)
    set(NG_PREVIOUS_LAYER ${NG_SIDE_BY_SIDE})
  endif()
endmacro()

# Every .cpp of src/ops that says NG_OPS(stem, ...) enters the table of built-in ops.
function(ng_op_table)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} marks REGEX "^NG_OPS\\(")
    foreach(mark IN LISTS marks)
      string(REGEX REPLACE "^NG_OPS\\(([a-z0-9_]+).*" "\\1" stem ${mark})
      string(APPEND declarations "std::vector<const OpRecord*> ${stem}();\n")
      string(APPEND calls "ops_table::${stem}, ")
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT op_table.cpp CONTENT [[
#include "ops/table.h"
namespace narrowgauge {
namespace ops_table {
@declarations@}
std::vector<const OpRecord*> built_in_ops() {
  std::vector<const OpRecord*> all;
  for (auto file : {@calls@})
    for (const OpRecord* op : file()) all.push_back(op);
  return all;
}
}  // namespace narrowgauge
]] @ONLY)
endfunction()
