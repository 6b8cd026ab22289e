// SPDX-License-Identifier: Apache-2.0
// An operand of a simulated product: lines of a tensor in the unit's format.
#pragma once

#include "narrowgauge/kernel.h"
#include "ops/units/product_lines.h"
#include "units/elements.h"

namespace narrowgauge {

class UnitOperand {
 public:
  // Makes up to `most` lines at once in a workspace of bytes().
  UnitOperand(ProductLines lines, Operand operand, UnitFormat format, std::int64_t most);

  const ProductLines& lines() const { return lines_; }
  std::int64_t bytes() const { return bytes_; }

  // The tensor's largest finite magnitude, and the scale that results must be multiplied by, for
  // formats with a scale of the whole tensor; 0 and 1 for other formats.
  struct Scale {
    float largest = 0, factor = 1;
  };
  Scale scale_of(const void* tensor, std::byte* workspace) const;
  // Makes lines begin to end of the matrix that begins `first` elements into the tensor. The result
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
  // Offsets of the values as f32, in the unit's format, as nibbles (4 bits), and of block scales.
  std::int64_t wide_ = 0, coded_ = 0, nibbles_ = 0, scales_ = 0, bytes_ = 0;
};

}  // namespace narrowgauge
