// SPDX-License-Identifier: Apache-2.0
// Products with a sparse a, PTX's mma.sp::ordered_metadata: of four elements of a row of a at most
// two are not zero (of two tf32 at most one), and only those are stored, with metadata that says
// where they stood. 16 rows, 8 columns, and a depth K of
//
//   half, bfloat16   16, 32      accumulators float; for half also half
//   precision::tf32   8, 16      float
//   signed char, unsigned char   32, 64      int
//
//   wmma::compress_sparse<32>(dense, 32, values, 16, metadata);   // on the host, once
//   sparse_fragment<matrix_a, 32, half> a;  sparse_metadata<32, half> e;
//   load_matrix_sync(a, values, 16);  load_metadata_sync(e, metadata);
//   mma_sp_sync(d, a, b, c, e);
//
// On the host sums of floating point are those of the unit's dense products over the elements that
// the metadata selects. An H100 adds so; how other GPUs do is not published, and as them sums need
// Unresolved::allowed. Sums of integers are exact. Under nvcc it is inline PTX for sm_80 and later.
#pragma once

#include <cstdint>

#include "narrowgauge/wmma/sparse_layout.h"

#if defined(__CUDACC__)
#include "narrowgauge/wmma/sparse_cuda.h"
#else
#include "narrowgauge/wmma/sparse_host.h"
#endif
