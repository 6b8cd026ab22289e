// SPDX-License-Identifier: Apache-2.0
// Operands of a strip program: how elements [begin, begin + count) of the iteration space, in the
// order of the outputs in memory, are loaded as f32 and stored from it.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

class StripOperand {
 public:
  DType dtype = DType::f32;
  bool contiguous = false;  // element i of the space is element i in memory
  Dims dims, strides;       // of the iteration space; a broadcast axis has stride 0

  // Whether every element of the space is the same one in memory.
  bool is_one_value() const;
  // A pointer to `count` f32 values, readable up to the next multiple of 16: into the tensor if
  // possible, else into `buffer`.
  const float* load(const void* data, std::int64_t begin, std::int64_t count, float* buffer) const;
  void store(const float* values, void* data, std::int64_t begin, std::int64_t count,
             std::int64_t* flushed) const;
  // Where results can be written without a copy; nullptr if that is impossible.
  float* direct(void* data, std::int64_t begin, std::int64_t count) const;
};

class IterationSpace {
 public:
  explicit IterationSpace(const Request& request);
  StripOperand operand(const Operand& operand) const;
  std::int64_t total() const { return total_; }

 private:
  const Operand* result_ = nullptr;
  std::int64_t total_ = 0;
};

// Why strips cannot run over these operands; "" if they can. `bytes`: whether u8 and i8 may be read
// as f32 and stored from whole numbers, which is what quantised values are.
std::string check_strip_operands(const Request& request, bool bytes);
std::vector<InPlace> in_place_pairs(const Request& request);

}  // namespace narrowgauge
