// SPDX-License-Identifier: Apache-2.0
// What convolutions and matrix products share on their way to a kernel.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

// The dtype in which operands reach the kernel, and a note about widening.
struct Computing {
  DType inputs = DType::f32;  // bf16 or f32
  std::string widening;       // ", f16 widened to f32", or nothing
};

// Throws UsageError unless the dtypes are among f32, f16 and bf16, or all f64 (then: no value).
std::optional<Computing> computing_for(const std::string& who,
                                       std::initializer_list<const View*> views);

// Whether oneDNN's own bf16 kernels may take these inputs and this output.
bool may_be_native(std::initializer_list<const View*> inputs, const View& output,
                   const ContractionOptions& options);

// Writes zero, or the bias (an input broadcast to the output), for a sum without terms.
Prepared prepare_fill(const View& output, const std::optional<View>& bias, int bias_index);

// Kernels in plain loops over f64.
Prepared prepare_convolution_f64(ConvolutionPass pass, const ConvolutionViews& views,
                                 const ConvolutionWindow& window);
Prepared prepare_matmul_f64(const MatMulViews& views);

}  // namespace narrowgauge::cpu
