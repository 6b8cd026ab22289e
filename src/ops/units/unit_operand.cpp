// SPDX-License-Identifier: Apache-2.0
#include "ops/units/unit_operand.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/convert/tf32.h"
#include "kernels/cpu/core/strided_copy.h"
#include "narrowgauge/block_format.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t elements_each = 16384;

// Whether a tensor of this dtype already has the unit's format.
bool is_format_of(UnitFormat format, DType dtype) {
  switch (dtype) {
    case DType::f16:
      return format == UnitFormat::f16;
    case DType::bf16:
      return format == UnitFormat::bf16;
    case DType::f64:
      return format == UnitFormat::f64;
    default:
      return format == UnitFormat::f32;
  }
}

// The dtype that stores elements without scales; f32 for tf32.
DType stored_dtype(UnitFormat format) {
  if (format == UnitFormat::f16) return DType::f16;
  return format == UnitFormat::bf16 ? DType::bf16 : DType::f32;
}

// The block format if elements have scales, else nullptr.
const BlockFormat* block_format_of(UnitFormat format) {
  switch (format) {
    case UnitFormat::f8e4m3:
      return &scaled_e4m3;
    case UnitFormat::f8e5m2:
      return &scaled_e5m2;
    case UnitFormat::mxf8e4m3:
      return &mxfp8_e4m3;
    case UnitFormat::mxf8e5m2:
      return &mxfp8_e5m2;
    case UnitFormat::mxf4:
      return &mxfp4;
    case UnitFormat::nvf4:
      return &nvfp4;
    default:
      return nullptr;
  }
}

std::int64_t padded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

UnitOperand::UnitOperand(ProductLines lines, Operand operand, UnitFormat format, std::int64_t most)
    : lines_(std::move(lines)), operand_(std::move(operand)), format_(format) {
  const std::int64_t rows = std::min(most, lines_.lines()), count = rows * depth();
  const auto add = [this](std::int64_t bytes) {
    const std::int64_t offset = bytes_;
    bytes_ += padded(bytes);
    return offset;
  };
  add(bytes_for(count, operand_.dtype));
  const BlockFormat* const blocks = block_format_of(format);
  if (blocks) {
    const std::int64_t with_largest = (rows + 1) * depth();
    wide_ = add(4 * with_largest);
    coded_ = add(with_largest);
    if (bits(blocks->element) == 4) nibbles_ = add(with_largest / 2 + 1);
    scales_ = add((rows + 1) * blocks_in_row(*blocks, depth()));
    bytes_ = std::max(bytes_, padded(4 * element_count(operand_.dims)));
  } else if (!is_format_of(format, operand_.dtype)) {
    wide_ = operand_.dtype == DType::f32 ? 0 : add(4 * count);
    coded_ =
        stored_dtype(format) == DType::f32 ? wide_ : add(bytes_for(count, stored_dtype(format)));
    bytes_ = std::max(bytes_, wide_ + padded(4 * count));
  }
}

UnitOperand::Scale UnitOperand::scale_of(const void* tensor, std::byte* workspace) const {
  const BlockFormat* const blocks = block_format_of(format_);
  if (!blocks || !blocks->tensor_scale) return {};
  auto* const values = reinterpret_cast<float*>(workspace);
  cpu::copy_strided({operand_.dtype, operand_.dims, operand_.strides}, tensor,
                    {DType::f32, operand_.dims, dense_strides(operand_.dims)}, values);
  Scale scale;
  for (std::int64_t i = 0; i < element_count(operand_.dims); ++i)
    if (std::isfinite(values[i])) scale.largest = std::max(scale.largest, std::abs(values[i]));
  std::byte element{}, of_block{};
  scale.factor = quantize(*blocks, &scale.largest, {1, 1}, {&element, &of_block});
  return scale;
}

void UnitOperand::round(std::int64_t count, std::byte* workspace) const {
  auto* const wide = reinterpret_cast<float*>(workspace + wide_);
  const DType to = stored_dtype(format_);
  parallel_for(count, elements_each, [&](std::int64_t begin, std::int64_t end) {
    if (operand_.dtype != DType::f32)
      cpu::widen_row(operand_.dtype, workspace + bytes_for(begin, operand_.dtype), wide + begin,
                     end - begin);
    if (to != DType::f32)
      cpu::narrow_row(wide + begin, to, workspace + coded_ + bytes_for(begin, to), end - begin);
    else if (format_ == UnitFormat::tf32)
      cpu::round_to_tf32(wide + begin, wide + begin, end - begin);
  });
}

// An extra line with the tensor's largest magnitude gives all calls the same tensor scale.
sim::Elements UnitOperand::quantize_lines(std::int64_t count, const Scale& scale,
                                          std::byte* workspace) const {
  const BlockFormat& blocks = *block_format_of(format_);
  const std::int64_t elements = (count + 1) * depth();
  auto* const wide = reinterpret_cast<float*>(workspace + wide_);
  cpu::widen_row(operand_.dtype, workspace, wide, count * depth());
  std::fill_n(wide + count * depth(), depth(), 0.0F);
  wide[count * depth()] = scale.largest;
  std::byte* const coded = workspace + coded_;
  const bool in_nibbles = bits(blocks.element) == 4;
  quantize(blocks, wide, {count + 1, depth()},
           {in_nibbles ? workspace + nibbles_ : coded, workspace + scales_});
  for (std::int64_t i = 0; i < elements && in_nibbles; ++i)
    coded[i] = (workspace[nibbles_ + i / 2] >> (i % 2 * 4)) & std::byte{0xf};
  const std::int64_t in_row = blocks_in_row(blocks, depth());
  const auto* const scales = reinterpret_cast<const std::uint8_t*>(workspace + scales_);
  return {format_, coded, depth(), 1, in_row > 0 ? scales : nullptr, in_row};
}

sim::Elements UnitOperand::make(const void* tensor, std::int64_t first, const Scale& scale,
                                std::int64_t begin, std::int64_t end, std::byte* workspace) const {
  const auto* const start =
      static_cast<const std::byte*>(tensor) + bytes_for(first, operand_.dtype);
  lines_.gather(bits(operand_.dtype) / 8, start, begin, end, workspace);
  if (block_format_of(format_)) return quantize_lines(end - begin, scale, workspace);
  if (is_format_of(format_, operand_.dtype)) return {format_, workspace, depth(), 1, nullptr, 0};
  round((end - begin) * depth(), workspace);
  return {format_, workspace + coded_, depth(), 1, nullptr, 0};
}

}  // namespace narrowgauge
