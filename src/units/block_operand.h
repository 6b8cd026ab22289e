// SPDX-License-Identifier: Apache-2.0
// Operands of units that read blocks with scales: from numbers, with blocks along k.
#pragma once

#include <cstdint>

#include "base/indexed_vector.h"
#include "narrowgauge/tensor.h"
#include "units/elements.h"

namespace narrowgauge {

// Elements one to a byte and their scales, of lines along k that begin `line_stride` numbers apart.
struct BlockOperand {
  IndexedVector<std::int64_t, std::uint8_t> codes, scales;
  std::int64_t lines = 0, depth = 0, blocks = 0;  // blocks in a line
  float tensor_scale = 1;
  UnitFormat format{};

  sim::Elements elements(std::int64_t first_line) const;
  double value(std::int64_t line, std::int64_t k) const;  // exact
};

bool is_block_format(UnitFormat format);

// Makes the operand from a matrix or several [..., rows, columns] with k along the last axis, or
// along the one before it (`by_columns`), or from a vector.
BlockOperand block_operand(const Tensor& values, UnitFormat format, bool by_columns);

}  // namespace narrowgauge
