// SPDX-License-Identifier: Apache-2.0
// Parts shared by kernels of bounded convolutions in bf16 that widen weights and biases into panels
// of f32: ahead, where both are constant.
#pragma once

#include <memory>
#include <utility>

#include "kernels/cpu/contraction/bounded_convolution.h"

namespace narrowgauge::cpu {

bool packs_ahead(const BoundedConvolution& convolution);
// The name of the layout of the panels, for one kind of kernel.
std::string panel_format(const char* kernel, const BoundedConvolution& convolution);
// Why images are not in bf16, or weights and bias in no format that is widened; "" if they are.
std::string narrow_operands_reason(const BoundedConvolution& convolution);
float widened_element(const View& view, const void* data, std::int64_t at);  // `at` in elements

// Prepares a kernel with packed_bytes() of panels that pack() makes, workspace(), format() and
// run().
template <class Kernel>
Prepared prepare_packed_bounded(std::string implementation, const BoundedConvolution& convolution) {
  const auto made = std::make_shared<const Kernel>(convolution);
  Prepared prepared{std::move(implementation),
                    made->workspace(),
                    [made](const Call& call) { made->run(call); },
                    {.isa = Isa::avx512}};
  if (!packs_ahead(convolution)) return prepared;
  std::vector<int> inputs{bounded_w};
  if (convolution.views.bias) inputs.push_back(bounded_bias);
  prepared.packed = {
      made->format(), made->packed_bytes(), inputs,
      [made](const void* const* from, std::byte* packed) { made->pack(from, packed); }};
  return prepared;
}

}  // namespace narrowgauge::cpu
