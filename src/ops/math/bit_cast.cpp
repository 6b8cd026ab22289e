// SPDX-License-Identifier: Apache-2.0
#include "ops/math/bit_cast.h"

#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tensor/values.h"

namespace narrowgauge {

namespace {

Offer bit_cast_reference(const Request& request) {
  const int width = bits(request.inputs[0].dtype);
  return reference_offer(request, [width](const auto& in, const auto& out, const KernelCall& call) {
    if (!call.outputs[0].data) return;
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      copy_element(width, call.inputs[0].data, in[0].offset(i), call.outputs[0].data,
                   out[0].offset(i));
  });
}

constexpr Kernel bit_cast_kernels[] = {{"reference", bit_cast_reference}};

}  // namespace

TensorTypes BitCast::infer(const Inference& in) const {
  require(bits(to) == bits(in.dtype(0)) && to != DType::boolean && to != DType::b1,
          "BitCast: expected a format of ", bits(in.dtype(0)), " bits for ", in.type(0),
          ", and not of truth values, got ", to);
  return {{to, in.shape(0)}};
}

std::span<const Kernel> BitCast::kernels() { return bit_cast_kernels; }

}  // namespace narrowgauge

NG_OPS(bit_cast, narrowgauge::BitCast)
NG_NO_GRADIENT(bit_cast, "bits taken as another format", narrowgauge::BitCast)
