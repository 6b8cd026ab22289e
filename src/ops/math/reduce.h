// SPDX-License-Identifier: Apache-2.0
// ONNX's reductions over some axes, or over all.
#pragma once

#include "kernels/cpu/reduce/reduce.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge {

using cpu::Reduction;

struct ReductionFacts {
  std::string_view name;
  Precision precision{};
  std::string_view types = "T:number";
};

// In the order of Reduction.
inline constexpr ReductionFacts reduction_facts[] = {
    {"ReduceSum", deny_f16},  {"ReduceMean", deny_f16},  {"ReduceMax", clear, ""},
    {"ReduceMin", clear, ""}, {"ReduceProd", infer},     {"ReduceL1", deny_f16},
    {"ReduceL2", deny},       {"ReduceSumSquare", deny}, {"ReduceLogSum", deny},
    {"ReduceLogSumExp", deny}};

constexpr OpInfo reduce_info(Reduction kind) {
  const ReductionFacts& facts = reduction_facts[static_cast<std::size_t>(kind)];
  return {.name = facts.name,
          .inputs = "x:T, axes?:i64!",
          .outputs = "y:T",
          .types = facts.types,
          .precision = facts.precision,
          .fusion = Fusion::reduction};
}

// y = x reduced over `axes` (constant; negative ones count from the end). Without axes all are
// reduced, or none with noop_with_empty_axes. Reduced axes stay with size 1 if keepdims. Sums are
// computed in f64; integers are exact and saturate at the ends of their dtype. NaN propagates. Over
// no elements: sums and L norms are 0, the product 1, maximum and logarithms -inf, minimum inf,
// mean NaN.
template <Reduction kind>
struct ReduceOp {
  static constexpr OpInfo info = reduce_info(kind);
  std::int64_t keepdims = 1;
  std::int64_t noop_with_empty_axes = 0;
  static void attributes(auto& self, auto&& visit) {
    visit("keepdims", self.keepdims);
    visit("noop_with_empty_axes", self.noop_with_empty_axes);
  }
  TensorTypes infer(const Inference& in) const;
  std::optional<Shape> numbers(const Inference& in) const;  // of a product
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

using ReduceSum = ReduceOp<Reduction::sum>;
using ReduceMean = ReduceOp<Reduction::mean>;
using ReduceMax = ReduceOp<Reduction::maximum>;
using ReduceMin = ReduceOp<Reduction::minimum>;
using ReduceProd = ReduceOp<Reduction::product>;
using ReduceL1 = ReduceOp<Reduction::l1>;
using ReduceL2 = ReduceOp<Reduction::l2>;
using ReduceSumSquare = ReduceOp<Reduction::sum_square>;
using ReduceLogSum = ReduceOp<Reduction::log_sum>;
using ReduceLogSumExp = ReduceOp<Reduction::log_sum_exp>;

constexpr OpInfo spread_info(std::string_view name) {
  return {.name = name,
          .domain = "ng",
          .inputs = "dy:T",
          .outputs = "dx:T",
          .types = "T:float",
          .precision = deny_f16,
          .fusion = Fusion::reduction};
}

// dy repeated along `axes` (none negative) to `shape`; dy has these axes with size 1 or lacks them.
// ReduceMeanGradient divides by the number of repetitions.
struct ReduceSumGradient {
  static constexpr OpInfo info = spread_info("ReduceSumGradient");
  Shape shape;
  Dims axes;
  static void attributes(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("axes", self.axes);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

struct ReduceMeanGradient {
  static constexpr OpInfo info = spread_info("ReduceMeanGradient");
  Shape shape;
  Dims axes;
  static void attributes(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("axes", self.axes);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
