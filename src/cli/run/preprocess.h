// SPDX-License-Identifier: Apache-2.0
// Images as a model wants them: channels in front, numbers shifted and scaled by channel.
#pragma once

#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge::cli {

struct InputFlags;

class Preprocess {
 public:
  explicit Preprocess(const InputFlags& flags);  // throws UsageError
  // (x - mean) * scale in f32, from [N, H, W, C] or [H, W, C] to channels in front where the layout
  // says so; [C, H, W] gets a batch axis. As it is, where no flag asks for anything.
  Tensor apply(const Tensor& image) const;

 private:
  std::vector<double> mean_, scale_;
  bool channels_last_ = false;
};

}  // namespace narrowgauge::cli
