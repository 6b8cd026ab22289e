// SPDX-License-Identifier: Apache-2.0
#include "cli/tiny_data.h"

#include <filesystem>

namespace narrowgauge::testing_cli {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

std::string tiny_images(int count, int side) {
  const auto size = static_cast<std::uint32_t>(side);
  std::string bytes = big_endian(0x0803) + big_endian(static_cast<std::uint32_t>(count)) +
                      big_endian(size) + big_endian(size);
  std::uint32_t noise = 1;
  for (int i = 0; i < count; ++i)
    for (int pixel = 0; pixel < side * side; ++pixel) {
      const int row = pixel / side * 2 / side, column = pixel % side * 2 / side;
      noise = noise * 1664525 + 1013904223;
      const bool bright = row * 2 + column == i % tiny_classes;
      bytes += static_cast<char>((bright ? 160 : 0) + static_cast<int>(noise >> 26));
    }
  return bytes;
}

std::string tiny_labels(int count) {
  std::string bytes = big_endian(0x0801) + big_endian(static_cast<std::uint32_t>(count));
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(i % tiny_classes);
  return bytes;
}

// Returns the folder's path.
std::string write_tiny_data(const std::string& folder, int side) {
  using testing_files::write_file;
  std::filesystem::create_directories(folder);
  write_file(folder + "/train-images-idx3-ubyte", tiny_images(tiny_train, side));
  write_file(folder + "/train-labels-idx1-ubyte", tiny_labels(tiny_train));
  write_file(folder + "/t10k-images-idx3-ubyte", tiny_images(tiny_test, side));
  write_file(folder + "/t10k-labels-idx1-ubyte", tiny_labels(tiny_test));
  return folder;
}

}  // namespace narrowgauge::testing_cli
