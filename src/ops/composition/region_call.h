// SPDX-License-Identifier: Apache-2.0
// What the kernels of region ops share: operands as tensors, and running a region on them.
#pragma once

#include <functional>
#include <vector>

#include "narrowgauge/graph.h"
#include "ops/reference.h"

namespace narrowgauge {

class RegionCall {
 public:
  RegionCall(const std::vector<ReferenceView>& in, const std::vector<ReferenceView>& out,
             const KernelCall& call, std::string_view name)
      : in_(in), out_(out), call_(call), name_(name) {}
  bool has_input(std::size_t i) const { return i < in_.size() && in_[i].present(); }
  Tensor input(std::size_t i) const;
  std::vector<Tensor> inputs_from(std::size_t first) const;
  // `stream` ("": the node's name) and `iteration` decide which random numbers the region draws.
  std::vector<Tensor> run(const Graph& region, std::span<const Tensor> inputs,
                          std::string_view stream, std::int64_t iteration) const;
  void set_output(std::size_t o, const Tensor& value) const;
  void set_outputs(const std::vector<Tensor>& values) const;
  // Stacks values one after the other along a new axis 0, the last first if `backwards`.
  void stack_output(std::size_t o, const std::vector<Tensor>& values, bool backwards) const;
  static Tensor slice(const Tensor& stacked, std::int64_t index);  // along axis 0

 private:
  const std::vector<ReferenceView>& in_;
  const std::vector<ReferenceView>& out_;
  const KernelCall& call_;
  std::string_view name_;
};

Offer offer_region_call(const Request& request, std::function<void(RegionCall&)> function);

}  // namespace narrowgauge
