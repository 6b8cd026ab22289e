// SPDX-License-Identifier: Apache-2.0
// CUDA's warp matrix functions without a GPU: namespace narrowgauge::wmma has the words of
// nvcuda::wmma (fragment, load_matrix_sync, fill_fragment, mma_sync, bmma_sync, store_matrix_sync),
// the same shapes and types, and nothing that CUDA lacks. Under nvcc they are nvcuda::wmma's own,
// so one source runs on both; on the host they compute bit by bit as a chosen unit (a100 unless
// wmma::use_unit says otherwise). wmma/launch.h has what else kernels need, wmma/sparse.h matrices
// in which two of four elements are zero. Header-only, C++20; see docs/wmma.md.
//
//   namespace wmma = narrowgauge::wmma;
//   wmma::fragment<wmma::matrix_a, 16, 16, 16, wmma::half, wmma::row_major> a;
#pragma once

#include "narrowgauge/wmma/launch.h"
#include "narrowgauge/wmma/number.h"
#include "narrowgauge/wmma/sparse.h"
#include "narrowgauge/wmma/unit.h"

#if defined(__CUDACC__)
#include <mma.h>

namespace narrowgauge::wmma {
inline namespace on_device {
using namespace ::nvcuda::wmma;
using ::nvcuda::wmma::fill_fragment;
using ::nvcuda::wmma::load_matrix_sync;
using ::nvcuda::wmma::store_matrix_sync;
}  // namespace on_device
}  // namespace narrowgauge::wmma
#else
#include "narrowgauge/wmma/fragment.h"
#include "narrowgauge/wmma/multiply.h"
#endif
