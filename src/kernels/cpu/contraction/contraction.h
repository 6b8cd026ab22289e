// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products, prepared once for fixed shapes. f32 runs in oneDNN. bf16 runs
// in its AMX kernels if it has one; f16 and other bf16 are widened for the f32 kernels: exact
// products, f32 accumulation, one rounding to nearest even on store. f64, for checks, runs in plain
// loops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/cpu/core/view.h"

namespace narrowgauge::cpu {

// What is done to elements [begin, end) of the result, in the order of memory, once they are
// stored: while they are in the cache, by the thread that stored them.
using Finish = std::function<void(const Call& call, std::int64_t begin, std::int64_t end)>;

struct ContractionOptions {
  bool native_bf16 = true;  // false: bf16 is widened on AMX too
  int threads = 0;          // that run() may use; 0: thread_count() of the caller of prepare_*
  // The places of constants in Call::inputs, which may be packed ahead.
  std::vector<int> lasting{};
  // What is done to each part of a result, which is in f32 and dense in memory; Call::inputs may
  // hold more for it behind those of the contraction. Only convolutions take it.
  Finish finish{};
};

struct ConvolutionWindow {  // one entry for each spatial axis
  Dims strides, dilations, pads_begin, pads_end;
  std::int64_t groups = 1;
};

enum class ConvolutionPass { forward, data_gradient, weight_gradient };

// x [N, C, spatial...], w [M, C / groups, kernel...], y [N, M, spatial...], one to three spatial
// axes; in a gradient pass x, w and y stand for their gradients. The passes write y, x and w in
// turn; the others are Call::inputs in the order x, w, bias, y. `bias` [M] is for the forward pass.
struct ConvolutionViews {
  View x, w, y;
  std::optional<View> bias;
};

// Throws UsageError for shapes that do not fit and for unsupported combinations of dtypes,
// DeviceError if oneDNN fails.
Prepared prepare_convolution(ConvolutionPass pass, const ConvolutionViews& views,
                             const ConvolutionWindow& window, const ContractionOptions& options);

// y [..., M, N] = a [..., M, K] b [..., K, N] + bias; leading axes broadcast, strides express
// transposition; `bias` is [N]. Call::inputs: a, b, bias.
struct MatMulViews {
  View a, b, y;
  std::optional<View> bias;
};

// Throws as prepare_convolution does.
Prepared prepare_matmul(const MatMulViews& views, const ContractionOptions& options);

}  // namespace narrowgauge::cpu
