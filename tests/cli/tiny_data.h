// SPDX-License-Identifier: Apache-2.0
// A set of 8x8 images in IDX files, learnt within a second: the class is the bright quadrant.
#pragma once

#include <cstdint>
#include <string>

#include "io/files.h"

namespace narrowgauge::testing_cli {

inline constexpr int tiny_train = 256, tiny_test = 64, tiny_side = 8, tiny_classes = 4;

std::string big_endian(std::uint32_t value);
std::string tiny_images(int count, int side = tiny_side);
std::string tiny_labels(int count);
std::string write_tiny_data(const std::string& folder, int side = tiny_side);

}  // namespace narrowgauge::testing_cli
