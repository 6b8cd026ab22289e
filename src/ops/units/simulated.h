// SPDX-License-Identifier: Apache-2.0
// Contractions as a simulated matrix unit computes them, bit by bit (units/product.h). Both
// operands are lines along k, rounded to nearest even to the unit's format if they have another;
// products and sums follow the unit's model from c = 0 and k = 0 on, in one chain. What an op adds
// after its product is added in f32; the result is rounded to its dtype to nearest even.
//
// For matrix products k has the order of the operands. For convolutions it has that of an implicit
// product in NHWC, with padding as zeros: (kernel row, kernel column, channel) forward; (kernel
// row, kernel column, output channel) for the data gradient, where steps of a stride that meet no
// output are zeros too; (image, row, column) of the output for the weight gradient. More or fewer
// spatial axes work likewise, and each group on its own.
//
// f8 operands are divided by a scale of the whole tensor that makes its largest magnitude the
// format's (current scaling), and the sums are then multiplied by both scales in f32; likewise for
// the tensor scales of nvf4. Block-scaled formats (block_format.h) have their blocks along
// k, from k = 0 on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "narrowgauge/kernel.h"
#include "ops/units/product_lines.h"

namespace narrowgauge {

// `batches` products of one shape, [rows, k] times [k, columns], one after another.
struct SimulatedProduct {
  struct Batch {
    std::int64_t a = 0, b = 0;  // where the operands begin, in elements
  };
  ProductLines a, b;  // rows, of the node's first input; columns, of its second
  std::vector<Batch> batches;
  // Turns the sums, dense [batches][rows][columns] of f32 (f64 for f64), into the node's output.
  std::function<void(const KernelCall& call, void* sums)> finish;
};

// Why a request is not for a simulated unit, or its operands cannot be read as they are stored; ""
// if it is and they can.
std::string simulated_reason(const Request& request);

// Throws UsageError if the unit lacks the format, see unit_choice.h.
Offer offer_simulated(const Request& request, SimulatedProduct product);

}  // namespace narrowgauge
