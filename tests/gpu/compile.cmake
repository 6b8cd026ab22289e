# SPDX-License-Identifier: Apache-2.0
# Compiles what runs on GPUs with NVCC for sm_80 and sm_90 into BUILD, and asks it and COMPILER which
# fragments and products there are: SOURCE is the project. Single instructions, wgmma's among them,
# are for sm_90a.
cmake_minimum_required(VERSION 3.25)
if(NOT NVCC)
  message(STATUS "[SKIP] nvcc is not installed")
  return()
endif()
file(MAKE_DIRECTORY ${BUILD})
set(tests ${SOURCE}/tests/gpu)
set(nvcc ${NVCC} -ccbin ${COMPILER} -x cu -std=c++20 -I ${SOURCE}/include
         -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90)

function(ng_execute)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(code)
    message(NOTICE "${text}")
    message(FATAL_ERROR "exit code ${code}: ${ARGN}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

ng_execute(${nvcc} ${SOURCE}/examples/wmma_gemm.cpp -o ${BUILD}/wmma_gemm)
ng_execute(${nvcc} ${tests}/sparse_kernel.cpp -o ${BUILD}/sparse_kernel)
ng_execute(${nvcc} -c ${tests}/wmma_bits_kernel.cpp -o ${BUILD}/wmma_bits_kernel.o)
ng_execute(${nvcc} ${tests}/combinations.cpp -o ${BUILD}/combinations)

# Both halves of the comparison of bits in one program.
set(compile ${COMPILER} -std=c++20 -O2 -I ${SOURCE}/include -c)
ng_execute(${compile} ${tests}/wmma_bits_kernel.cpp -o ${BUILD}/wmma_bits_host.o)
ng_execute(${compile} ${tests}/wmma_bits.cpp -o ${BUILD}/wmma_bits.o)
ng_execute(${NVCC} -ccbin ${COMPILER} ${BUILD}/wmma_bits.o ${BUILD}/wmma_bits_host.o
           ${BUILD}/wmma_bits_kernel.o -o ${BUILD}/wmma_bits)

ng_execute(${NVCC} -ccbin ${COMPILER} -x cu -std=c++20 -I ${SOURCE}/include
           -gencode arch=compute_90a,code=sm_90a -c ${tests}/instruction_kernel.cpp
           -o ${BUILD}/instruction_kernel.o)
ng_execute(${compile} ${tests}/instruction_bits.cpp -o ${BUILD}/instruction_bits.o)
ng_execute(${NVCC} -ccbin ${COMPILER} ${BUILD}/instruction_bits.o ${BUILD}/instruction_kernel.o
           -o ${BUILD}/instruction_bits)

ng_execute(${COMPILER} -std=c++20 -O2 -I ${SOURCE}/include ${tests}/library_products.cpp
           -o ${BUILD}/library_products)

ng_execute(${COMPILER} -std=c++20 -O1 -I ${SOURCE}/include ${tests}/combinations.cpp -pthread
           -o ${BUILD}/combinations_host)
ng_execute(${BUILD}/combinations)
set(of_cuda "${text}")
ng_execute(${BUILD}/combinations_host)
if(NOT text STREQUAL of_cuda)
  message(FATAL_ERROR "CUDA has these fragments and products:\n${of_cuda}\nand wmma.hpp:\n${text}")
endif()
