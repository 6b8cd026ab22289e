// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions whose sums oneDNN makes in i32, on VNNI or AMX: exact, as our own. The
// epilogue runs over each shard of the sums while it is in the cache.
#pragma once

#include "kernels/cpu/bytes/quantized_convolution.h"

namespace narrowgauge::cpu {

// The convolution of u8 by s8 in i32; y has its channels together.
Prepared prepare_onednn_sums(const ConvolutionViews& views, const ConvolutionWindow& window,
                             const ContractionOptions& options);

// Why it cannot take this; "" when it can. Whether the CPU adds without saturating is the caller's
// to know: without VNNI oneDNN adds pairs of products in 16 bits.
std::string onednn_quantized_reason(const QuantizedViews& views, const QuantizedNumbers& numbers);

// `x_zero`: where it is known. x, y and the residual have their channels together.
Prepared prepare_onednn_quantized(const QuantizedViews& views, const ConvolutionWindow& window,
                                  const QuantizedNumbers& numbers,
                                  std::optional<std::int32_t> x_zero, int threads = 0);

}  // namespace narrowgauge::cpu
