// SPDX-License-Identifier: Apache-2.0
#include "units/block_operand.h"

#include "narrowgauge/block_format.h"
#include "narrowgauge/matrix_unit_formats.h"

namespace narrowgauge {
namespace {

const BlockFormat& storage_of(UnitFormat format) {
  switch (format) {
    case UnitFormat::mxf8e4m3:
      return mxfp8_e4m3;
    case UnitFormat::mxf8e5m2:
      return mxfp8_e5m2;
    case UnitFormat::mxf4:
      return mxfp4;
    default:
      return nvfp4;
  }
}

// The values as [..., lines, k] in f32.
Tensor with_k_last(const Tensor& values, bool by_columns) {
  const Tensor wide = values.cast(DType::f32);
  const Dims& dims = wide.dims();
  if (!by_columns || dims.size() < 2) return wide;
  Dims turned = dims;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  Tensor result(DType::f32, turned);
  const std::int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const float* const from = wide.values<float>().data();
  float* const to = result.values<float>().data();
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const std::int64_t matrix = i / (rows * columns), column = i / rows % columns, row = i % rows;
    to[i] = from[(matrix * rows + row) * columns + column];
  }
  return result;
}

std::uint8_t code_at(const Tensor& elements, std::int64_t index) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(elements.data());
  if (bits(elements.dtype()) == 8) return bytes[index];
  return static_cast<std::uint8_t>(bytes[index / 2] >> (index % 2 * 4) & 0xf);
}

}  // namespace

bool is_block_format(UnitFormat format) { return block_size(format) != 0; }

sim::Elements BlockOperand::elements(std::int64_t first_line) const {
  return {format, codes.data() + first_line * depth,   depth,
          1,      scales.data() + first_line * blocks, blocks};
}

double BlockOperand::value(std::int64_t line, std::int64_t k) const {
  const auto code = codes[line * depth + k];
  const auto scale = scales[line * blocks + k / block_size(format)];
  const Unpacked of_block =
      format == UnitFormat::nvf4 ? unpack(UnitFormat::f8e4m3, scale) : unpack_power(scale);
  return unpack(format, code).value * of_block.value * double{tensor_scale};
}

BlockOperand block_operand(const Tensor& values, UnitFormat format, bool by_columns) {
  const Tensor lines = with_k_last(values, by_columns);
  const BlockTensor stored = quantize(storage_of(format), lines);
  BlockOperand operand;
  operand.format = format;
  operand.depth = lines.dims().back();
  operand.lines = operand.depth ? lines.size() / operand.depth : 0;
  operand.blocks = blocks_in_row(stored.format, operand.depth);
  operand.tensor_scale = stored.tensor_scale;
  for (std::int64_t i = 0; i < lines.size(); ++i) operand.codes.add(code_at(stored.elements, i));
  const auto* const scales = reinterpret_cast<const std::uint8_t*>(stored.scales.data());
  operand.scales =
      IndexedVector<std::int64_t, std::uint8_t>({scales, scales + stored.scales.size()});
  return operand;
}

}  // namespace narrowgauge
