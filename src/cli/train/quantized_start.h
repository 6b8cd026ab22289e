// SPDX-License-Identifier: Apache-2.0
// `train SOURCE --quantize int8`: a trained network becomes one that is trained on as it will
// compute on bytes.
#pragma once

#include <optional>

#include "cli/common/temporary_folder.h"
#include "cli/task/settings.h"

namespace narrowgauge::cli {

class QuantizedStart {
 public:
  // Where --quantize is given, calibrates the network of a run or file, and lets the flags name the
  // quantized one instead, a file that lives as long as this; of a run, also its data, the way its
  // images became inputs, and a tenth of its learning rate, unless flags say otherwise.
  explicit QuantizedStart(TrainFlags& flags);

 private:
  std::optional<TemporaryFolder> folder_;
};

}  // namespace narrowgauge::cli
