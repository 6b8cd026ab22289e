// SPDX-License-Identifier: Apache-2.0
#include "ops/math/logic.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> logic_samples() {
  return {{{}, {sample("bool[2,3]", 0, 1), sample("bool[3]", 0, 1)}},
          {{}, {sample("bool[33]", 0, 1), sample("bool[33]", 0, 1)}}};
}

std::vector<Sample<Not>> not_samples() { return {{{}, {sample("bool[2,3]", 0, 1)}}}; }

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(logic, logic_samples<And>(), logic_samples<Or>(), logic_samples<Xor>(), not_samples())
