# SPDX-License-Identifier: Apache-2.0
# Runs what compile.cmake made on a GPU and compares bits with the host: GEMM is the example of the
# host, ELEMENTS how many results of random tiles are compared in each format, RESULTS of each
# instruction. With a PyTorch in PYTHON its matrix products are compared too.
cmake_minimum_required(VERSION 3.25)
if(NOT EXISTS ${BUILD}/wmma_bits)
  message(STATUS "[SKIP] nvcc is not installed")
  return()
endif()

execute_process(COMMAND ${BUILD}/wmma_gemm RESULT_VARIABLE code OUTPUT_VARIABLE of_gpu)
if(code EQUAL 77)
  message(STATUS "[SKIP] there is no GPU")
  return()
elseif(code)
  message(FATAL_ERROR "the example fails on the GPU: ${of_gpu}")
endif()
execute_process(COMMAND ${GEMM} OUTPUT_VARIABLE of_host COMMAND_ERROR_IS_FATAL ANY)
string(STRIP "${of_gpu}" of_gpu)
string(FIND "${of_host}" "${of_gpu}" place)
if(place LESS 0 AND NOT of_gpu MATCHES "^other")
  message(FATAL_ERROR "the GPU's result is `${of_gpu}`, the host's are\n${of_host}")
endif()
message(STATUS "the same bits on the GPU: ${of_gpu}")

foreach(program "wmma_bits ${ELEMENTS}" "instruction_bits ${RESULTS}" sparse_kernel)
  separate_arguments(command UNIX_COMMAND "${BUILD}/${program}")
  execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE text)
  message(STATUS "${text}")
  if(NOT code EQUAL 0 AND NOT code EQUAL 77)
    message(FATAL_ERROR "${program}: exit code ${code}")
  endif()
endforeach()

execute_process(COMMAND ${PYTHON} ${SOURCE}/tests/gpu/library_products.py ${BUILD}/products
                RESULT_VARIABLE code OUTPUT_VARIABLE text)
message(STATUS "${text}")
if(code EQUAL 77)
  message(STATUS "no PyTorch with an H100 in ${PYTHON}")
  return()
endif()
execute_process(COMMAND ${BUILD}/library_products ${BUILD}/products RESULT_VARIABLE compared
                OUTPUT_VARIABLE text)
message(STATUS "${text}")
if(code OR compared)
  message(FATAL_ERROR "the products of PyTorch are not those of the model")
endif()
