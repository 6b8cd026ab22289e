// SPDX-License-Identifier: Apache-2.0
// Contractions as a simulated matrix unit computes them, bit by bit (kernels/sim/product.h): both
// operands as lines along k, rounded to nearest even to the unit's format where they have another,
// products and sums by the unit's model from c = 0 and k = 0 on, in one chain. What an op adds
// after its product is added in f32; the result is rounded to its dtype to nearest even.
//
// The order of k is that of the operands for matrix products; for convolutions that of an implicit
// product in NHWC, padding counted as zeros: (kernel row, kernel column, channel) forward, (kernel
// row, kernel column, output channel) for the gradient of data, where steps of a stride that meet
// no output are zeros too, and (image, row, column) of the output for the gradient of weights. More
// or fewer spatial axes likewise, groups each on their own.
//
// f8 operands are divided by a scale of the whole tensor that makes its largest magnitude the
// format's (current scaling), and the sums multiplied with both scales after, in f32; likewise the
// tensors' scales of nvf4. Block-scaled formats (tensor/block_format.h) have their blocks along k,
// beginning at k = 0.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/contraction.h"
#include "kernels/cpu/gemm_epilogue.h"
#include "narrowgauge/kernel.h"
#include "ops/product_lines.h"

namespace narrowgauge {

// Products of one shape: [rows, k] times [k, columns], `batches` after each other.
struct SimulatedProduct {
  struct Batch {
    std::int64_t a = 0, b = 0;  // where the operands begin, in elements
  };
  ProductLines a, b;  // rows, of the node's first input; columns, of its second
  std::vector<Batch> batches;
  // From the sums, dense [batches][rows][columns] of f32 (f64 of f64), to the node's output.
  std::function<void(const KernelCall& call, void* sums)> finish;
};

// Why a request is not for a simulated unit, or its operands lie as they cannot be read; "" when it
// is and they do.
std::string simulated_reason(const Request& request);

// Throws UsageError where the unit lacks the format, see unit_choice.h.
Offer offer_simulated(const Request& request, SimulatedProduct product);

// y = a b, vectors as matrices, transposition in the strides.
Offer offer_simulated_matmul(const Request& request, const cpu::MatMulViews& views);
// The same of two matrices; epilogue: what is done with the sums, c the node's third input.
Offer offer_simulated_gemm(const Request& request, const cpu::MatMulViews& views,
                           const cpu::GemmEpilogue& epilogue);

// x, w and y as cpu::ConvolutionViews has them.
struct ConvolutionOperands {
  const Operand &x, &w, &y;
};
Offer offer_simulated_convolution(const Request& request, cpu::ConvolutionPass pass,
                                  const ConvolutionOperands& operands,
                                  const cpu::ConvolutionWindow& window);

}  // namespace narrowgauge
