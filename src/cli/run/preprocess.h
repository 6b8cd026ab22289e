// SPDX-License-Identifier: Apache-2.0
// Images as a model wants them: channels in their place, numbers shifted and scaled by channel.
#pragma once

#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge::cli {

struct InputFlags;

// Whether the channels come last, [N, H, W, C], or in front of height and width.
struct ChannelsOf {
  bool from_last = false;  // of the images that are given
  bool to_last = false;    // of the result
};

class Preprocess {
 public:
  explicit Preprocess(const InputFlags& flags);  // throws UsageError
  // (x - mean) * scale in f32; [C, H, W] gets a batch axis. As it is, where no flag asks for
  // anything and the channels stay where they are.
  Tensor apply(const Tensor& image, ChannelsOf channels) const;
  // What --layout says of images in files.
  bool channels_last() const { return channels_last_; }

 private:
  std::vector<double> mean_, scale_;
  bool channels_last_ = false;
};

}  // namespace narrowgauge::cli
