// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/one_hot_encoder.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <unordered_map>

#include "base/enumerate.h"
#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Whether the element is a number that i64 can hold.
bool is_whole_number(const ReferenceView& x, std::int64_t i) {
  return !is_floating(x.dtype()) || std::abs(x[i]) < 0x1p63;
}

Offer one_hot_encoder_reference(const Request& request) {
  const auto& op = request.as<OneHotEncoder>();
  std::unordered_map<std::int64_t, std::int64_t> places;
  for (const auto& [place, category] : enumerate(op.cats_int64s)) places[category] = place;
  return reference_offer(request, [places, count = std::ssize(op.cats_int64s),
                                   zeros = op.zeros != 0](const auto& in, const auto& out,
                                                          const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, 0);
    for (std::int64_t i = 0; i < in[0].size(); ++i) {
      const auto found = is_whole_number(in[0], i) ? places.find(in[0].integer(i)) : places.end();
      require<DataError>(zeros || found != places.end(), "OneHotEncoder: ", in[0][i],
                         " is none of the categories");
      if (found != places.end()) out[0].set(i * count + found->second, 1);
    }
  });
}

constexpr Kernel one_hot_encoder_kernels[] = {{"reference", one_hot_encoder_reference}};

}  // namespace

TensorTypes OneHotEncoder::infer(const Inference& in) const {
  require(!cats_int64s.empty(), "OneHotEncoder: expected categories in cats_int64s");
  Shape shape = in.shape(0);
  shape.emplace_back(std::ssize(cats_int64s));
  return {{DType::f32, shape}};
}

std::span<const Kernel> OneHotEncoder::kernels() { return one_hot_encoder_kernels; }

}  // namespace narrowgauge

NG_OPS(one_hot_encoder, narrowgauge::OneHotEncoder)
NG_NO_GRADIENT(one_hot_encoder, "choice of categories", narrowgauge::OneHotEncoder)
