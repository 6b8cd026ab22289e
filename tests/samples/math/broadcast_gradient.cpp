// SPDX-License-Identifier: Apache-2.0
#include "ops/math/broadcast_gradient.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<BroadcastGradient>> broadcast_gradient_samples() {
  const auto to = [](Shape shape) { return BroadcastGradient{std::move(shape)}; };
  return {{to({3, 1, 1}), {sample("f32[2,3,4,5]")}}, {to({}), {sample("f32[7]")}},
          {to({2, 1, 3}), {sample("f32[2,4,3]")}},   {to({5}), {sample("f32[17,5]")}},
          {to({1, 3}), {sample("f32[0,3]")}},        {to({1, 37}), {sample("f32[3,47,37]")}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(broadcast_gradient, broadcast_gradient_samples())
