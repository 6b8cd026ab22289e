// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/slice.h"

#include <limits>

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Slice>> slice_samples() {
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  return {{{}, {sample("f32[5,4]"), sample_list({1, 0}), sample_list({3, 4})}},
          {{}, {sample("f32[2,6,4,5]"), sample_list({-4}), sample_list({end}), sample_list({1})}},
          {{},
           {sample("f32[7,3]"), sample_list({6}), sample_list({-end - 1}), sample_list({0}),
            sample_list({-2})}},
          {{},
           {sample("f32[2,9]"), sample_list({1, 0}), sample_list({8, 2}), sample_list({-1, 0}),
            sample_list({3, 1})}},
          {{}, {sample("f32[4]"), sample_list({3}), sample_list({1})}},
          {{}, {sample("f32[2,4]"), sample_list({0}), sample_list({100}), sample_list({1})}},
          {{},
           {sample("i64[5]", -9, 9), sample_list({-2}), sample_list({-5}), no_sample(),
            sample_list({-1})}}};
}

std::vector<Sample<SliceGradient>> slice_gradient_samples() {
  return {{{{5, 4}, {1}, {3}, {0}, {1}}, {sample("f32[2,4]")}},
          {{{2, 6, 4, 5}, {0, 4}, {6, 0}, {1, 2}, {2, -2}}, {sample("f32[2,3,2,5]")}},
          {{{4}, {3}, {1}, {0}, {1}}, {sample("f32[0]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(slice, slice_samples(), slice_gradient_samples())
