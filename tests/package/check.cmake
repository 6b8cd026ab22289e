# Installs the build BUILD of SOURCE, moves what was installed, builds a host program against it with
# COMPILER, and runs that. Also: the library exports its own namespace only.
cmake_minimum_required(VERSION 3.25)
set(folder ${BUILD}/package_check)
file(REMOVE_RECURSE ${folder})

function(ng_execute)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(code)
    message(NOTICE "${text}")
    message(FATAL_ERROR "exit code ${code}: ${ARGN}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

ng_execute(${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}/first)
file(RENAME ${folder}/first ${folder}/prefix)

ng_execute(${CMAKE_COMMAND} -S ${SOURCE}/tests/package -B ${folder}/host -G Ninja
           -DCMAKE_PREFIX_PATH=${folder}/prefix -DCMAKE_CXX_COMPILER=${COMPILER})
ng_execute(${CMAKE_COMMAND} --build ${folder}/host)
ng_execute(${folder}/host/host)
message(STATUS "${text}")
ng_execute(ldd ${folder}/host/host)
if(text MATCHES "not found|libgtest|libbenchmark")
  message(NOTICE "${text}")
  message(FATAL_ERROR "the host program needs more than it should")
endif()
if(EXISTS ${folder}/prefix/bin/narrowgauge)
  ng_execute(${folder}/prefix/bin/narrowgauge --version)
endif()

file(GLOB library ${folder}/prefix/lib/libnarrowgauge.so)
ng_execute(nm -D --defined-only ${library})
string(REGEX MATCHALL "[^\n]+" symbols "${text}")
list(FILTER symbols EXCLUDE REGEX " (_ZN|_ZNK|_ZT.N|_ZZN|_ZGVN|_ZGVZN)11narrowgauge")
if(symbols)
  message(FATAL_ERROR "symbols of others are visible: ${symbols}")
endif()

find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${folder}/prefix/lib/pkgconfig)
  ng_execute(${pkg_config} --cflags --libs narrowgauge)
  separate_arguments(flags UNIX_COMMAND "${text}")
  ng_execute(${COMPILER} -std=c++20 ${SOURCE}/tests/package/main.cpp ${flags}
             -Wl,-rpath,${folder}/prefix/lib -o ${folder}/host_by_pkg_config)
  ng_execute(${folder}/host_by_pkg_config)
endif()
