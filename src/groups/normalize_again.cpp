// SPDX-License-Identifier: Apache-2.0
#include "groups/normalize_again.h"

#include "groups/operands.h"
#include "kernels/cpu/normalization/batch_norm.h"

namespace narrowgauge {

NormalizeAgainOperands::NormalizeAgainOperands(const GroupMatch& match, Part again)
    : x(match.input(again, 0)),
      scale(match.input(again, 1)),
      bias(match.input(again, 2)),
      mean(match.input(again, 3)),
      inverse_std(match.input(again, 4)) {}

std::string NormalizeAgainOperands::reason(const GroupRequest& group) const {
  for (const int i : {x, scale, bias, mean, inverse_std})
    if (i < 0) return "a normalization of constants";
  for (const int i : {scale, bias, mean, inverse_std}) {
    std::string found = vector_reason(group.input(i));
    if (!found.empty()) return found;
  }
  return {};
}

void NormalizeAgainOperands::factors(const KernelCall& call, std::int64_t channels, float* factor,
                                     float* constant) const {
  const auto in = [&](int i) { return static_cast<const float*>(data_at(call.inputs, i)); };
  cpu::BatchNormApply norm;
  norm.layout.channels = channels;
  norm.scale = in(scale);
  norm.bias = in(bias);
  norm.inverse_std = in(inverse_std);
  batch_norm_factors(norm, factor, constant);
}

}  // namespace narrowgauge
