// SPDX-License-Identifier: Apache-2.0
// NumPy's files: one array as .npy, several named ones as .npz (a zip archive of .npy files).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/safetensors.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// NumPy names only its own formats in a file. ml_dtypes 0.6 writes bfloat16 as "<V2" (two bytes of
// no kind, used for no other of its formats) and float8_e5m2 as "<f1" (which numpy itself cannot
// read back); float8_e4m3fn is "<V1", and so are a dozen other formats of one byte. So "V2" is read
// as bf16, "f1" as f8e5m2, and "V1" as `one_byte` says: any format of 8 bits, or i4, u4, i2 and u2,
// of which ml_dtypes keeps one to a byte.
struct NG_API NumpyReading {
  std::optional<DType> one_byte{};  // none: "V1" is refused
};

// Arrays of any order, C or Fortran, and byte order come out dense and row-major. Throws DataError
// naming the file, what was expected and found: damage, truncation, formats without a counterpart
// here (complex, text, objects), sizes that the file cannot hold.
NG_API Tensor read_npy(const std::string& path, const NumpyReading& reading = {});

// Writes numpy's format 1.0, C order, little-endian; bf16 as "<V2", floats of 8 bits as "<V1":
// `numpy.load(path).view(ml_dtypes.bfloat16)`. Replaces the file as a whole. Throws UsageError for
// formats of less than a byte, DataError if it cannot be written.
NG_API void write_npy(const std::string& path, const Tensor& tensor);

// Names of the arrays in an archive, in its order, without ".npy".
NG_API std::vector<std::string> npz_names(const std::string& path);
// One array of an archive: only its bytes are read and checked.
NG_API Tensor read_npz(const std::string& path, const std::string& name,
                       const NumpyReading& reading = {});
// All arrays of an archive, in its order.
NG_API std::vector<NamedTensor> read_npz(const std::string& path, const NumpyReading& reading = {});

// Whether the arrays in an archive are compressed.
enum class Compression : bool { stored, deflated };
// Writes as numpy.savez and savez_compressed do. Equal content gives equal bytes. Throws UsageError
// for names that are empty or appear twice.
NG_API void write_npz(const std::string& path, std::span<const NamedTensor> tensors,
                      Compression compression = Compression::stored);

}  // namespace narrowgauge
