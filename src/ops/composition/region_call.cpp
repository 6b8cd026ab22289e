// SPDX-License-Identifier: Apache-2.0
#include "ops/composition/region_call.h"

#include <algorithm>

#include "base/random.h"
#include "ops/composition/interpret.h"

namespace narrowgauge {

Tensor RegionCall::input(std::size_t i) const {
  Tensor tensor(in_[i].dtype(), in_[i].dims());
  load(in_[i], tensor);
  return tensor;
}

std::vector<Tensor> RegionCall::inputs_from(std::size_t first) const {
  std::vector<Tensor> tensors;
  for (std::size_t i = first; i < in_.size(); ++i) tensors.push_back(input(i));
  return tensors;
}

std::vector<Tensor> RegionCall::run(const Graph& region, std::span<const Tensor> inputs,
                                    std::string_view stream, std::int64_t iteration) const {
  InterpretOptions options;
  options.reference = false;
  // The stream goes into the step and not the seed, which ops with a seed of their own ignore.
  options.context = {
      call_.context.seed,
      stable_hash(concat(stream.empty() ? name_ : stream, '/', iteration), call_.context.step)};
  return interpret(region, inputs, options);
}

void RegionCall::set_output(std::size_t o, const Tensor& value) const { store(value, out_[o]); }

void RegionCall::set_outputs(const std::vector<Tensor>& values) const {
  for (std::size_t o = 0; o < values.size(); ++o) set_output(o, values[o]);
}

void RegionCall::stack_output(std::size_t o, const std::vector<Tensor>& values,
                              bool backwards) const {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t length = out_[o].dims()[0];
  require(count == length, "a loop of ", length, " iterations ended after ", count);
  for (std::int64_t t = 0; const Tensor& value : values) {
    const std::int64_t iteration = backwards ? count - 1 - t : t;
    store(value, out_[o], iteration * value.size());
    ++t;
  }
}

Tensor RegionCall::slice(const Tensor& stacked, std::int64_t index) {
  const Dims dims(stacked.dims().begin() + 1, stacked.dims().end());
  Tensor result(stacked.dtype(), dims);
  const std::int64_t size = result.size();
  for (std::int64_t k = 0; k < size; ++k)
    copy_element(bits(result.dtype()), stacked.data(), index * size + k, result.data(), k);
  return result;
}

Offer offer_region_call(const Request& request, std::function<void(RegionCall&)> function) {
  Offer offer =
      reference_offer(request, [function = std::move(function), name = std::string(request.name)](
                                   const auto& in, const auto& out, const KernelCall& call) {
        RegionCall region_call(in, out, call, name);
        function(region_call);
      });
  offer.implementation = "interpreted";
  return offer;
}

}  // namespace narrowgauge
