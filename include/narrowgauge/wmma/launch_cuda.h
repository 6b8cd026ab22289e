// SPDX-License-Identifier: Apache-2.0
// wmma/launch.h under nvcc.
#pragma once

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#define NG_KERNEL __global__
#define NG_DEVICE __device__
#define NG_SHARED(type, name, ...) __shared__ __align__(128) type name __VA_ARGS__
#define NG_DYNAMIC_SHARED(type, name)                                 \
  extern __shared__ __align__(128) unsigned char ng_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(ng_dynamic_shared)

namespace narrowgauge::wmma {
inline namespace on_device {

using ::dim3;

inline __device__ int thread_rank() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
inline __device__ int thread_count() {
  return static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}
inline __device__ int warp_rank() { return thread_rank() / 32; }
inline __device__ int warp_count() { return thread_count() / 32; }
inline __device__ int lane_rank() { return thread_rank() % 32; }
inline __device__ int lane_count() { return 32; }
inline __device__ dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
inline __device__ dim3 grid_size() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
inline __device__ void sync_threads() { __syncthreads(); }
inline __device__ void sync_warp() { __syncwarp(); }

inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("wmma: ") + what + ": " + cudaGetErrorString(error));
}

struct Grid {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
void launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (grid.shared_bytes > 0)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(grid.shared_bytes)),
               "dynamic shared memory");
  kernel<<<grid.blocks, grid.threads, grid.shared_bytes>>>(static_cast<Parameters>(arguments)...);
  check_cuda(cudaGetLastError(), "launch");
  check_cuda(cudaDeviceSynchronize(), "kernel");
}
template <class... Parameters, class... Arguments>
void launch(dim3 blocks, dim3 threads, void (*kernel)(Parameters...), Arguments&&... arguments) {
  launch(Grid{blocks, threads}, kernel, static_cast<Arguments&&>(arguments)...);
}

// `count` elements that host and device read and write, not initialised.
template <class T>
class ManagedArray {
 public:
  explicit ManagedArray(std::size_t count) : size_(count) {
    check_cuda(cudaMallocManaged(&data_, (count ? count : 1) * sizeof(T)), "memory");
  }
  ~ManagedArray() { cudaFree(data_); }
  ManagedArray(const ManagedArray&) = delete;
  ManagedArray& operator=(const ManagedArray&) = delete;
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace on_device
}  // namespace narrowgauge::wmma
#endif
