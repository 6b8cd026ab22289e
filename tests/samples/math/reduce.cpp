// SPDX-License-Identifier: Apache-2.0
#include "ops/math/reduce.h"

#include "ops/shape/axes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <Reduction kind>
std::vector<Sample<ReduceOp<kind>>> reduce_samples() {
  // Products and logarithms need positive numbers; the others take both signs.
  constexpr bool positive = kind == Reduction::product || kind == Reduction::log_sum;
  const auto x = [](std::string_view type) {
    return positive ? sample(type, 0.5, 1.5) : sample(type);
  };
  const auto axes = [](const Dims& values) { return sample(list_of(values)); };
  return {{{}, {x("f32[2,3,5]")}},
          {{.keepdims = 0}, {x("f32[2,3,5]"), axes({1})}},
          {{}, {x("f32[2,3,4,5]"), axes({2, -1})}},
          {{.keepdims = 0}, {x("f32[3,4,2,3]"), axes({-2, 0})}},
          {{}, {x("f32[4,1,3]"), axes({})}},
          {{.noop_with_empty_axes = 1}, {x("f32[2,5]"), axes({})}},
          {{.keepdims = 0}, {x("f32[]")}},
          {{}, {sample("i64[3,4]", 1, 9), axes({0})}}};
}

template <class Op>
std::vector<Sample<Op>> spread_samples() {
  return {{{{2, 3, 5}, {0, 1, 2}}, {sample("f32[]")}},
          {{{2, 3, 5}, {1}}, {sample("f32[2,1,5]")}},
          {{{2, 3, 5}, {2, 0}}, {sample("f32[3]")}},
          {{{2, 3, 4, 5}, {2, 3}}, {sample("f32[2,3,1,1]")}},
          {{{17}, {}}, {sample("f32[17]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(reduce, reduce_samples<Reduction::sum>(), reduce_samples<Reduction::mean>(),
           reduce_samples<Reduction::maximum>(), reduce_samples<Reduction::minimum>(),
           reduce_samples<Reduction::product>(), reduce_samples<Reduction::l1>(),
           reduce_samples<Reduction::l2>(), reduce_samples<Reduction::sum_square>(),
           reduce_samples<Reduction::log_sum>(), reduce_samples<Reduction::log_sum_exp>(),
           spread_samples<ReduceSumGradient>(), spread_samples<ReduceMeanGradient>())
