// SPDX-License-Identifier: Apache-2.0
// Samples that many elementwise ops share: odd sizes, one element, and broadcasting both ways.
#pragma once

#include "samples/samples.h"

namespace narrowgauge {

template <class Op>
std::vector<Sample<Op>> unary_samples(double low = -2, double high = 2, Op op = {}) {
  return {{op, {sample("f32[2,3,5]", low, high)}},
          {op, {sample("f32[1]", low, high)}},
          {op, {sample("f32[2,3,4,5]", low, high)}}};
}

template <class Op>
std::vector<Sample<Op>> binary_samples(double low = -2, double high = 2, Op op = {}) {
  return {{op, {sample("f32[2,3,5]", low, high), sample("f32[2,3,5]", low, high)}},
          {op, {sample("f32[4,1,3]", low, high), sample("f32[2,1]", low, high)}},
          {op, {sample("f32[]", low, high), sample("f32[17]", low, high)}},
          {op, {sample("f32[2,3,2,5]", low, high), sample("f32[3,1,1]", low, high)}}};
}

// Of the gradient of an activation: x or y, and dy.
template <class Op>
std::vector<Sample<Op>> gradient_samples(double low = -2, double high = 2, Op op = {}) {
  return {{op, {sample("f32[2,3,5]", low, high), sample("f32[2,3,5]")}},
          {op, {sample("f32[1]", low, high), sample("f32[1]")}},
          {op, {sample("f32[2,3,4,5]", low, high), sample("f32[2,3,4,5]")}}};
}

}  // namespace narrowgauge
