// SPDX-License-Identifier: Apache-2.0
// Runs an offered kernel outside a plan, on memory of its own, to time it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compile/turns.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Bytes of memory that a LoneKernel takes.
std::int64_t lone_kernel_bytes(std::span<const Operand> inputs, std::span<const Operand> outputs,
                               std::int64_t workspace);

class LoneKernel {
 public:
  // Allocates operands in their storages. Values are random, between -1 and 1 and not zero, since
  // some units are faster on zeros. Whole numbers are 0: they may be indices.
  LoneKernel(std::span<const Operand> inputs, std::span<const Operand> outputs,
             std::int64_t workspace);

  // What a kernel reads beside these operands.
  Tensor pack(const Packing& packing) const;
  // The time of one run, done as the executor would do it; `packed` is what pack() made.
  double milliseconds(const std::function<void(const KernelCall&)>& run, const Tensor& packed,
                      Stopwatch& stopwatch);

 private:
  std::vector<Tensor> tensors_;
  std::vector<View> inputs_, outputs_;
  std::vector<std::int64_t> flushed_;
  Tensor workspace_;
};

}  // namespace narrowgauge
