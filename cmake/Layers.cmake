# ng_layer(name [libraries...]): a static library of src/<name>, linked to the layer before it, so
# that a call against the order of layers does not link. The folder is the list of sources.
set(NG_PREVIOUS_LAYER ng_options)
set(NG_LAYERS "")
function(ng_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  if(name STREQUAL ops)
    ng_op_table(${sources})
    list(APPEND sources ${CMAKE_BINARY_DIR}/op_table.cpp)
  endif()
  add_library(ng_${name} STATIC ${sources})
  target_link_libraries(ng_${name} PUBLIC ${NG_PREVIOUS_LAYER} PRIVATE ${ARGN})
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.avx512\\.cpp$")
      set_source_files_properties(
        ${source} PROPERTIES COMPILE_OPTIONS
                             "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
    elseif(source MATCHES "\\.amx\\.cpp$")
      set_source_files_properties(
        ${source}
        PROPERTIES COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512vl;-mamx-tile;-mamx-bf16;-mamx-int8")
    endif()
  endforeach()
  set(NG_PREVIOUS_LAYER ng_${name} PARENT_SCOPE)
  set(NG_LAYERS ${NG_LAYERS} ng_${name} PARENT_SCOPE)
endfunction()

# Every src/ops/*.cpp that says NG_OPS(stem, ...) enters the table of built-in ops.
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
