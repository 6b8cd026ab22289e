// SPDX-License-Identifier: Apache-2.0
// A NormalizeAgain, and the Relu behind it, whose result one member of a group reads: kernels that
// read x anyway compute the same bits in registers.
#pragma once

#include "groups/group.h"

namespace narrowgauge {

struct NormalizeAgainOperands {
  int x, scale, bias, mean, inverse_std;  // inputs of the group

  NormalizeAgainOperands(const GroupMatch& match, Part again);

  // Why the vectors cannot be read; "" if they can.
  std::string reason(const GroupRequest& group) const;
  // Factors for y = (x - mean) * factor + constant, per channel.
  void factors(const KernelCall& call, std::int64_t channels, float* factor, float* constant) const;
};

}  // namespace narrowgauge
