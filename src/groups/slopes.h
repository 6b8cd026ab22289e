// SPDX-License-Identifier: Apache-2.0
// What groups that pass a gradient back begin with: an optional ConvDataGradient, Add and
// ReluGradient, in this order, on batch-inner blocks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "groups/group.h"
#include "kernels/cpu/batch_inner/tile_convolution.h"

namespace narrowgauge {

struct SlopeParts {
  Part convolution, sum, gradient;
};

// The operands of the chain by their index in the group; -1: none.
struct SlopeOperands {
  int dy = -1, weights = -1;  // dy is the gradient itself where there is no convolution
  int other = -1, kept = -1;  // of Add and ReluGradient

  // `source` is the gradient where the chain has no nodes.
  SlopeOperands(const GroupMatch& match, const SlopeParts& parts, int source);
  bool convolves() const { return weights >= 0; }
  // The inputs whose memory output `written` may overwrite.
  std::vector<InPlace> places(int written) const;
};

// How the chain is computed, with a result like `slope`; or the reason why tiles cannot.
struct SlopeChain {
  std::string reason;
  std::optional<cpu::BatchInnerConvolution> convolution;
  Dims dims;
  DType dtype;

  std::shared_ptr<const cpu::TileConvolution> make() const;
};
SlopeChain slope_chain(const GroupRequest& group, const SlopeParts& parts,
                       const SlopeOperands& operands, const Operand& slope);

// Runs the chain into output `written`, with whatever else `slopes` asks for. The workspace is the
// convolution's.
void run_slopes(const SlopeOperands& operands, const cpu::TileConvolution& convolution,
                const KernelCall& call, int written, cpu::Slopes slopes);

}  // namespace narrowgauge
