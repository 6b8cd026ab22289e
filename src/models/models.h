// SPDX-License-Identifier: Apache-2.0
// The built-in networks for images: each a builder of a few lines.
#pragma once

#include "narrowgauge/model.h"

namespace narrowgauge {

BuildNetwork mlp(ImageShape image, std::int64_t classes);
// LeCun, Bottou, Bengio, Haffner 1998, with max pooling and Relu as is usual today.
BuildNetwork lenet(ImageShape image, std::int64_t classes);
// He, Zhang, Ren, Sun 2016, section 4.2: three stages of three blocks, 16 to 64 channels.
BuildNetwork resnet20(ImageShape image, std::int64_t classes);

}  // namespace narrowgauge
