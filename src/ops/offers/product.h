// SPDX-License-Identifier: Apache-2.0
// Requests for matrix products in one form, and the kernels that take them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/contraction/gemm_epilogue.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// y = a b, or what Gemm makes of it: alpha a b + beta c.
struct ProductRequest {
  const Request& request;
  // Vectors are matrices, and strides express transposition; c is the bias where it is a row that
  // is added as it is.
  cpu::MatMulViews views;
  std::vector<int> inputs{0, 1};  // of the request, in the order of the kernels: a, b, bias
  std::optional<cpu::GemmEpilogue> epilogue{};  // of a Gemm
  std::string scaled{};                         // why the result is not a b + bias; "" if it is
};

struct ProductKernel {
  std::string_view name;
  Offer (*offer)(const ProductRequest&);
};

Offer product_on_pixel_tiles(const ProductRequest& request);  // by a constant matrix
Offer product_on_tiles(const ProductRequest& request);
Offer product_in_pairs(const ProductRequest& request);  // of bf16
Offer product_in_dfp16(const ProductRequest& request);
Offer product_of_rows(const ProductRequest& request);    // few, with a matrix of 16 bits
Offer product_in_panels(const ProductRequest& request);  // of f32, by a constant matrix
Offer product_in_onednn(const ProductRequest& request);
// The product in f32 (f64 for f64) in the workspace, then alpha, beta and c in one pass.
Offer scaled_product_in_onednn(const ProductRequest& request);
Offer product_in_tf32(const ProductRequest& request);
Offer simulated_product(const ProductRequest& request);

inline constexpr ProductKernel product_kernels[] = {{"pixel tiles", product_on_pixel_tiles},
                                                    {"tiles", product_on_tiles},
                                                    {"pairs", product_in_pairs},
                                                    {"dfp16", product_in_dfp16},
                                                    {"rows", product_of_rows},
                                                    {"panels", product_in_panels},
                                                    {"onednn", product_in_onednn},
                                                    {"onednn, scaled", scaled_product_in_onednn},
                                                    {"tf32", product_in_tf32},
                                                    {"simulated", simulated_product}};

}  // namespace narrowgauge
