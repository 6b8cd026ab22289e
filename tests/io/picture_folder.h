// SPDX-License-Identifier: Apache-2.0
// Folders of small pictures, learnt within a second: the class is the bright quadrant.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/images/encode_png.h"

namespace narrowgauge::testing_files {

inline const std::vector<std::string> picture_classes{"north east", "north west", "south east",
                                                      "south west"};

// RGB, of `height` x `width` pixels; `number` makes each another one.
inline std::string png_of(std::size_t label, std::uint32_t number, std::int64_t height = 24,
                          std::int64_t width = 32) {
  Tensor image(DType::u8, {height, width, 3});
  std::uint32_t noise = number * 2654435761u + static_cast<std::uint32_t>(label) + 1;
  std::uint8_t* pixel = image.values<std::uint8_t>().data();
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (int channel = 0; channel < 3; ++channel) {
        noise = noise * 1664525 + 1013904223;
        const std::size_t quadrant = (2 * y >= height ? 2u : 0u) + (2 * x >= width ? 0u : 1u);
        *pixel++ = static_cast<std::uint8_t>((quadrant == label ? 160 : 20) + (noise >> 26));
      }
  return encode_png(image);
}

// Writes so many pictures for each class and returns the folder's path.
inline std::string write_pictures(const std::string& folder, int of_each, std::uint32_t first = 0) {
  for (std::size_t label = 0; label < picture_classes.size(); ++label) {
    const std::filesystem::path place = std::filesystem::path(folder) / picture_classes[label];
    std::filesystem::create_directories(place);
    for (int i = 0; i < of_each; ++i)
      write_file(place / ("p" + std::to_string(100 + i) + ".png"),
                 png_of(label, first + static_cast<std::uint32_t>(i)));
  }
  return folder;
}

}  // namespace narrowgauge::testing_files
