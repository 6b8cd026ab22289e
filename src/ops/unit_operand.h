// SPDX-License-Identifier: Apache-2.0
// An operand of a simulated product: lines of a tensor in the format of the unit.
#pragma once

#include "kernels/sim/elements.h"
#include "narrowgauge/kernel.h"
#include "ops/product_lines.h"

namespace narrowgauge {

class UnitOperand {
 public:
  // Up to `most` lines at once are made in a workspace of bytes().
  UnitOperand(ProductLines lines, Operand operand, UnitFormat format, std::int64_t most);

  const ProductLines& lines() const { return lines_; }
  std::int64_t bytes() const { return bytes_; }

  // What a format with a scale of the whole tensor has to know: its largest finite magnitude, and
  // the scale that results have to be multiplied with. 0 and 1 for other formats.
  struct Scale {
    float largest = 0, factor = 1;
  };
  Scale scale_of(const void* tensor, std::byte* workspace) const;
  // Lines begin to end of the matrix that begins `first` elements into the tensor. What comes back
  // lies in the workspace.
  sim::Elements make(const void* tensor, std::int64_t first, const Scale& scale, std::int64_t begin,
                     std::int64_t end, std::byte* workspace) const;

 private:
  std::int64_t depth() const { return lines_.depth(); }
  void round(std::int64_t count, std::byte* workspace) const;
  sim::Elements quantize_lines(std::int64_t count, const Scale& scale, std::byte* workspace) const;

  ProductLines lines_;
  Operand operand_;
  UnitFormat format_;
  // Offsets: values as f32, in the unit's format, of 4 bits in nibbles, scales of blocks.
  std::int64_t wide_ = 0, coded_ = 0, nibbles_ = 0, scales_ = 0, bytes_ = 0;
};

}  // namespace narrowgauge
