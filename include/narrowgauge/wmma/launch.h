// SPDX-License-Identifier: Apache-2.0
// One source for kernels of CUDA and of the host: what a kernel needs besides fragments.
//
// On the host a warp is one call of the kernel, because its fragments hold whole matrices. The
// warps of a block are threads with a real barrier; blocks run one after another, several at once
// if there are more cores than warps. So loops over threads go from thread_rank() in steps of
// thread_count(): over the block's threads on a GPU, over its warps on the host. Loops over the
// lanes of a warp go from lane_rank() in steps of lane_count(), which are 0 and 1 on the host.
//
//   NG_KERNEL void scale(float* x, int count) {
//     for (int i = thread_rank(); i < count; i += thread_count()) x[i] *= 2;
//   }
//   wmma::launch(1, 128, scale, x.data(), x.size());
#pragma once

#if defined(__CUDACC__)
#include "narrowgauge/wmma/launch_cuda.h"
#else
#include "narrowgauge/wmma/launch_host.h"
#endif
