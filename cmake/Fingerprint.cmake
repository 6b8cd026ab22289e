# ng_fingerprint(layer folders...): what is kept on disk is valid for these sources only. Whenever one
# of them changes, a source of the layer is written anew that defines kernels_fingerprint().
set(NG_FINGERPRINT_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/write_fingerprint.cmake)
function(ng_fingerprint layer)
  set(sources "")
  foreach(folder IN ITEMS ${ARGN})
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp
         ${PROJECT_SOURCE_DIR}/src/${folder}/*.h)
    list(APPEND sources ${files})
  endforeach()
  list(JOIN sources "\n" lines)
  set(list ${CMAKE_BINARY_DIR}/fingerprint_of.txt)
  set(result ${CMAKE_BINARY_DIR}/fingerprint.cpp)
  file(CONFIGURE OUTPUT ${list} CONTENT "@lines@" @ONLY)
  add_custom_command(
    OUTPUT ${result} COMMAND ${CMAKE_COMMAND} -DLIST=${list} -DRESULT=${result} -P
                             ${NG_FINGERPRINT_SCRIPT}
    DEPENDS ${list} ${sources} ${NG_FINGERPRINT_SCRIPT} VERBATIM)
  set_source_files_properties(${result} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(NG_TABLES_${layer} ${NG_TABLES_${layer}} ${result} PARENT_SCOPE)
endfunction()
