// SPDX-License-Identifier: Apache-2.0
// The builders of the networks for images, one family per file.
#pragma once

#include "narrowgauge/models.h"

namespace narrowgauge {

Value image_input(Network& net, ImageShape image);

BuildNetwork mlp(ImageShape image, std::int64_t classes);
BuildNetwork lenet(ImageShape image, std::int64_t classes);
BuildNetwork resnet20(ImageShape image, std::int64_t classes);
BuildNetwork resnet18(ImageShape image, std::int64_t classes);
BuildNetwork resnet50(ImageShape image, std::int64_t classes);
BuildNetwork vgg19(ImageShape image, std::int64_t classes);
BuildNetwork densenet121(ImageShape image, std::int64_t classes);
BuildNetwork mobilenet_v2(ImageShape image, std::int64_t classes);
BuildNetwork unet_small(ImageShape image, std::int64_t classes);
BuildNetwork autoencoder(ImageShape image, std::int64_t classes);
BuildNetwork vit_small(ImageShape image, std::int64_t classes);

}  // namespace narrowgauge
