# ng_layer(name [libraries...]): a static library of src/<name>, linked to the layer before it. The
# folder is the list of sources, beside the tables that ng_table() made for it. Between ng_fork() and
# ng_join() layers stand side by side.
include(Isa)
set(NG_LAYERS "")
set(NG_PREVIOUS_LAYER ng_options)  # what a layer to the right links: several after ng_join()
function(ng_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  list(APPEND sources ${NG_TABLES_${name}})
  if(NARROWGAUGE_FUZZ)  # which compiles the readers itself, and takes what g++ made of the rest
    add_library(ng_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(
      ng_${name} PROPERTIES IMPORTED_LOCATION ${NARROWGAUGE_FUZZ_PLAIN}/libng_${name}.a
                            INTERFACE_LINK_LIBRARIES "${NG_PREVIOUS_LAYER};${ARGN}")
  else()
    add_library(ng_${name} STATIC ${sources})
    target_link_libraries(ng_${name} PUBLIC ${NG_PREVIOUS_LAYER} PRIVATE ${ARGN})
    ng_isa_flags(${sources})
    ng_unity(ng_${name})
  endif()
  if(name STREQUAL groups)  # where the table of ops is, which ops ask for
    set_property(TARGET ng_ops APPEND PROPERTY INTERFACE_LINK_LIBRARIES ng_groups)
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

# ng_table(layer table mark type function header [folders...]): a table of what the sources of the
# layer, and of more folders, enter by the mark. Its source is one of the layer.
function(ng_table layer table mark type function header)
  set(sources "")
  foreach(folder IN ITEMS ${ARGN} ${layer})
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
    list(APPEND sources ${files})
  endforeach()
  ng_collect(${table} ${mark} ${type} ${function} ${header} ${sources})
  set(NG_TABLES_${layer} ${NG_TABLES_${layer}} ${CMAKE_BINARY_DIR}/${table}.cpp PARENT_SCOPE)
endfunction()

# ng_collect(table mark type function header sources...): whatever says `mark(stem, ...)` at the start
# of a line in the sources enters a table, <build>/<table>.cpp. Its `function` of `header` returns a
# vector of `type`; the mark is a macro of `header` that defines narrowgauge::<table>_parts::stem()
# with what the source enters.
function(ng_collect table mark type function header)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} marks REGEX "^${mark}\\(")
    foreach(line IN LISTS marks)
      if(NOT line MATCHES "^${mark}\\(([a-z0-9_]+)")
        message(FATAL_ERROR "${file}: expected a stem on the line of ${mark}")
      endif()
      string(APPEND declarations "std::vector<${type}> ${CMAKE_MATCH_1}();\n")
      string(APPEND calls "${table}_parts::${CMAKE_MATCH_1}, ")
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${table}.cpp CONTENT [[
#include "@header@"
namespace narrowgauge {
namespace @table@_parts {
@declarations@}
std::vector<@type@> @function@() {
  std::vector<@type@> all;
  for (auto part : {@calls@})
    for (const auto& entry : part()) all.push_back(entry);
  return all;
}
}  // namespace narrowgauge
]] @ONLY)
endfunction()
