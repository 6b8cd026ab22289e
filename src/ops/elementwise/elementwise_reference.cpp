// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise_reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "narrowgauge/op_record.h"
#include "ops/reference.h"

namespace narrowgauge {

namespace {

// The index of the element of a broadcast operand for `index` of the result.
std::int64_t broadcast_index(const Dims& result, const Dims& operand, std::int64_t index) {
  std::int64_t source = 0, stride = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t position = index % result[result.size() - 1 - i];
    index /= result[result.size() - 1 - i];
    if (i >= operand.size()) continue;
    const std::int64_t dim = operand[operand.size() - 1 - i];
    if (dim != 1) source += position * stride;
    stride *= dim;
  }
  return source;
}

// Infinities stand for "no limit", as numbers beyond those of every integer dtype do.
template <class T>
T saturated(double value) {
  constexpr double no_limit = 0x1p64;
  if constexpr (std::is_same_v<T, WideInteger>)
    return static_cast<T>(std::clamp(value, -no_limit, no_limit));
  else
    return value;
}

// Computes one element at a time with the op's own function for T.
template <class T, class Load, class Store>
void for_each_element(const Elementwise& elementwise, const Attributes& attributes,
                      const std::vector<ReferenceView>& in, const ReferenceView& out,
                      const Load& load, const Store& store) {
  const auto function = [&] {
    if constexpr (std::is_same_v<T, double>)
      return elementwise.f64;
    else
      return elementwise.whole;
  }();
  const auto arity = static_cast<std::size_t>(elementwise.arity);
  std::vector<T> values(std::max(in.size(), arity));
  std::vector<const T*> pointers;
  for (const T& value : values) pointers.push_back(&value);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = k < in.size() && in[k].present()
                      ? load(k, broadcast_index(out.dims(), in[k].dims(), i))
                      : saturated<T>(elementwise.when_absent.at(k));
    T result{};
    function(attributes.get(), pointers.data(), &result, 1);
    for (std::size_t k = arity; k < values.size(); ++k) {
      const std::array<const T*, 2> pair{&result, &values[k]};
      function(attributes.get(), pair.data(), &result, 1);
    }
    store(i, result);
  }
}

bool has_floating(std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    if (operand.present && is_floating(operand.dtype)) return true;
  return false;
}

}  // namespace

Offer offer_elementwise_reference(const Request& request) {
  const Elementwise& elementwise = *request.op.elementwise;
  const bool floating = has_floating(request.inputs) || has_floating(request.outputs);
  if (!floating && !elementwise.whole)
    return Offer::decline(concat(request.op.full_name(), " is not defined on integers"));
  return reference_offer(request, [&elementwise, floating, attributes = request.attributes](
                                      const auto& in, const auto& out, const KernelCall&) {
    if (floating) {
      for_each_element<double>(
          elementwise, attributes, in, out[0],
          [&](std::size_t k, std::int64_t i) { return in[k][i]; },
          [&](std::int64_t i, double value) { out[0].set(i, value); });
      return;
    }
    // A change of dtype saturates; arithmetic in one dtype wraps around.
    const bool wraps = in[0].dtype() == out[0].dtype();
    for_each_element<WideInteger>(
        elementwise, attributes, in, out[0],
        [&](std::size_t k, std::int64_t i) { return in[k].whole(i); },
        [&](std::int64_t i, WideInteger value) {
          out[0].set_whole(i, wraps ? wrapped(value, out[0].dtype()) : value);
        });
  });
}

}  // namespace narrowgauge
