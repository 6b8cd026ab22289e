// SPDX-License-Identifier: Apache-2.0
// Block formats as storage: turns rows of f32 into elements of 8 or 4 bits, where each block of
// neighbours shares a scale, and back. Sources: OCP Microscaling Formats (MX) 1.0, sections 5.1 and
// 6.3; NVIDIA, "Pretraining Large Language Models with NVFP4", arXiv 2509.25149, appendix C;
// Transformer Engine, "current scaling".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "narrowgauge/export.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// An element's value is element x scale of its block x scale of the tensor. The last block of a row
// may be shorter. With M the largest element, 2^emax the largest power of two among them and amax
// the largest magnitude of the block:
// - scale f8e8m0 (MX): 2^(floor(log2 amax) - emax), exponents held to -127 ... 127; 2^-127 for a
//   block of zeros.
// - scale f8e4m3fn (NVFP4): of the tensor, s = 1 / (448 M / amax of the tensor), at least 2^-117; 1
//   for zeros. Of the block, (amax / M) / s rounded. Blocks too small for a scale become zeros.
// - scale f32: amax / M, at least 2^-126; 1 for zeros.
// - block 0: no scales but one of the tensor, made as for a block of f32.
// Elements are value / scale rounded to nearest even; what is too large becomes M.
// A NaN or an infinity makes its block NaN, by its scale, since elements of 4 bits have neither;
// where there are no scales of blocks it stays alone: infinity becomes NaN in f8e4m3fn.
struct BlockFormat {
  DType element = DType::f8e4m3fn;  // or f8e5m2, f4e2m1
  int block = 32;                   // neighbours; 0: none but the tensor's scale
  DType scale = DType::f8e8m0;      // of a block
  bool tensor_scale = false;        // an f32 for all, with scales of f8e4m3fn or none
  bool operator==(const BlockFormat&) const = default;
};

// MXFP8 with elements of f8e4m3fn: 32 share a scale, a power of two.
inline constexpr BlockFormat mxfp8_e4m3{DType::f8e4m3fn, 32, DType::f8e8m0, false};
// MXFP8 with elements of f8e5m2: 32 share a scale, a power of two.
inline constexpr BlockFormat mxfp8_e5m2{DType::f8e5m2, 32, DType::f8e8m0, false};
// MXFP4: 32 elements of f4e2m1 share a scale, a power of two.
inline constexpr BlockFormat mxfp4{DType::f4e2m1, 32, DType::f8e8m0, false};
// NVFP4: 16 elements of f4e2m1 share a scale of f8e4m3fn; the tensor has one of f32.
inline constexpr BlockFormat nvfp4{DType::f4e2m1, 16, DType::f8e4m3fn, true};
// Elements of f8e4m3fn with one scale of f32 for the whole tensor.
inline constexpr BlockFormat scaled_e4m3{DType::f8e4m3fn, 0, DType::f32, true};
// Elements of f8e5m2 with one scale of f32 for the whole tensor.
inline constexpr BlockFormat scaled_e5m2{DType::f8e5m2, 0, DType::f32, true};

// A block format with its name.
struct NamedBlockFormat {
  std::string_view name;  // "mxfp8_e4m3"
  BlockFormat format;     // what the name stands for
};
NG_API std::span<const NamedBlockFormat> block_formats();  // "mxfp8_e4m3", ... "scaled_e5m2"

NG_API void check(
    const BlockFormat& format);  // throws UsageError for parts that do not go together
NG_API double bits_per_element(const BlockFormat& format);  // scales of whole blocks included

// The shape of what is quantized: dense rows, each divided into blocks of its own.
struct BlockRows {
  std::int64_t rows = 0, length = 0;  // their number; elements in each
};
NG_API std::int64_t blocks_in_row(const BlockFormat& format,
                                  std::int64_t length);  // 0 without scales

// Elements are dense, 4-bit ones two to a byte across the ends of rows, the low half first; scales
// are [rows][blocks_in_row].
struct BlockStorage {
  std::byte* elements = nullptr;  // of the format's `element`
  std::byte* scales = nullptr;    // of the format's `scale`; not used without blocks
};
// Quantized rows to read, laid out as in BlockStorage.
struct ConstBlockStorage {
  const std::byte* elements = nullptr;  // of the format's `element`
  const std::byte* scales = nullptr;    // of the format's `scale`; not used without blocks
  float tensor_scale = 1;               // what quantize() returned
};

// Returns the scale of the tensor, 1 if the format has none.
NG_API float quantize(const BlockFormat& format, const float* values, BlockRows rows,
                      const BlockStorage& to);
// Writes element x scale of its block x scale of the tensor to `values`, [rows][length]. Throws
// UsageError for a format that check() refuses.
NG_API void dequantize(const BlockFormat& format, const ConstBlockStorage& from, BlockRows rows,
                       float* values);

// A quantized tensor, with blocks along the last axis. elements has the dims of the tensor, scales
// those with the last one divided.
struct BlockTensor {
  BlockFormat format;       // in which the two tensors are stored
  Tensor elements, scales;  // of the format's types; scales are empty without blocks
  float tensor_scale = 1;   // 1 if the format has none
};
NG_API BlockTensor quantize(const BlockFormat& format,
                            const Tensor& values);    // f32 of rank 1 and more
NG_API Tensor dequantize(const BlockTensor& tensor);  // f32

}  // namespace narrowgauge
