// SPDX-License-Identifier: Apache-2.0
// The first convolution of a bottleneck, which makes a panel of 32 channels of a part of a line at
// a time: of pixels whose channels lie together, or of plain images of few channels.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/floats/float_bottleneck.h"
#include "kernels/cpu/floats/float_depthwise.h"
#include "kernels/cpu/floats/float_stretches.h"
#include "kernels/cpu/floats/float_weights.h"

namespace narrowgauge::cpu {

struct ExpandedLine {
  const Call& call;
  const float* weights;  // as FloatExpansion::weights() packs them
  std::int64_t panel, image, line;
  const std::vector<Part>& blocks;  // of pixels, one after the other
  float* to;                        // [pixels][32]
  const FloatStretches& ahead;      // what to prefetch into L2 meanwhile,
  std::int64_t ahead_from;          // from this place
  std::byte* scratch;
};

class FloatExpansion {
 public:
  FloatExpansion(const FloatStage& stage, const View& w)
      : weights_(w, depthwise_vectors), bounds_(stage.bounds), biased_(stage.views.bias) {}
  virtual ~FloatExpansion() = default;
  FloatExpansion(const FloatExpansion&) = delete;
  FloatExpansion& operator=(const FloatExpansion&) = delete;

  const FloatWeights& weights() const { return weights_; }
  virtual std::int64_t scratch_bytes() const = 0;
  // How far a block of pixels brings in what is read next.
  virtual std::int64_t ahead_each() const { return 0; }
  virtual void make(const ExpandedLine& line) const = 0;

 protected:
  FloatResults results_of(const ExpandedLine& line) const;

 private:
  FloatWeights weights_;
  FloatBounds bounds_;
  bool biased_;
};

std::unique_ptr<const FloatExpansion> make_float_expansion(const FloatStage& stage);

}  // namespace narrowgauge::cpu
