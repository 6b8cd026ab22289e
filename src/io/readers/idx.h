// SPDX-License-Identifier: Apache-2.0
// IDX files, the format of MNIST: magic 00 00 type rank, sizes as big-endian u32, then the bytes.
// The files of a set are found in one folder, each plain or gzipped.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Reads a file of unsigned bytes (type 08) of this rank as a u8 tensor; gzip is recognised by its
// first bytes. Throws DataError for any other file; sizes are checked before memory is allocated.
Tensor read_idx(const std::string& path, int rank);

}  // namespace narrowgauge
