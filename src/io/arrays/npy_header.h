// SPDX-License-Identifier: Apache-2.0
// The front of a .npy file: magic, version, and a Python dictionary with the format, order and
// shape of the elements that follow (numpy/lib/format.py, NEP 1).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "narrowgauge/npz.h"

namespace narrowgauge {

struct NpyHeader {
  DType dtype = DType::f32;
  Dims dims;
  bool fortran_order = false;
  bool swapped = false;            // big-endian
  bool one_a_byte = false;         // formats of fewer bits as ml_dtypes keeps them
  std::int64_t element_bytes = 0;  // in the file
  std::int64_t bytes = 0;          // of all elements there
};

// Reads the whole header; `read` fills a span, or fewer bytes at the end of the data. At most
// `room` bytes exist in all. Throws DataError beginning with `who`.
using ReadBytes = std::function<std::size_t(std::span<std::byte>)>;
NpyHeader read_npy_header(const std::string& who, const ReadBytes& read, std::int64_t room,
                          const NumpyReading& reading);

// Magic, version 1.0 (2.0 if the text needs it) and dictionary, padded to a multiple of 64 bytes.
// Throws UsageError for formats of less than a byte.
std::string npy_header(const Tensor& tensor);

}  // namespace narrowgauge
