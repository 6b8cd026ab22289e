// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise_reference.h"

#include <array>

#include "narrowgauge/op.h"
#include "ops/reference.h"

namespace narrowgauge {

namespace {

constexpr std::size_t most_inputs = 8;

// Index of the element of a broadcast operand that meets `index` of the result.
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

// One element at a time through the op's own function for T.
template <class T, class Load, class Store>
void for_each_element(const Elementwise& elementwise, const Attributes& attributes,
                      const std::vector<ReferenceView>& in, const ReferenceView& out,
                      const Load& load, const Store& store) {
  const auto function = [&] {
    if constexpr (std::is_same_v<T, double>)
      return elementwise.f64;
    else
      return elementwise.i64;
  }();
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::array<T, most_inputs> values{};
    std::array<const T*, most_inputs> pointers{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(elementwise.arity); ++k) {
      if (k < in.size() && in[k].present())
        values[k] = load(k, broadcast_index(out.dims(), in[k].dims(), i));
      else
        values[k] = static_cast<T>(elementwise.when_absent.at(k));
      pointers[k] = &values[k];
    }
    T result{};
    function(attributes.get(), pointers.data(), &result, 1);
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
  NG_INVARIANT(static_cast<std::size_t>(elementwise.arity) <= most_inputs);
  const bool floating = has_floating(request.inputs) || has_floating(request.outputs);
  if (!floating && !elementwise.i64)
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
    for_each_element<std::int64_t>(
        elementwise, attributes, in, out[0],
        [&](std::size_t k, std::int64_t i) { return in[k].integer(i); },
        [&](std::int64_t i, std::int64_t value) { out[0].set_integer(i, value); });
  });
}

}  // namespace narrowgauge
