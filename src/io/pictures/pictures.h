// SPDX-License-Identifier: Apache-2.0
// Where an ImageSource has its pictures from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "narrowgauge/images.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

inline constexpr std::uint8_t unknown_pixel = 255;  // of a mask

class Pictures {
 public:
  virtual ~Pictures() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t label(std::int64_t index) const = 0;
  // u8 [H, W, C] of 1 or 3 channels, by any number of threads. Throws DataError for a damaged one.
  virtual Tensor read(std::int64_t index) const = 0;
  // Classes u8 [H, W] of the pixels of a picture of this size, 255 where nothing is known; only
  // where there are masks. Throws DataError for a damaged one, or of another size.
  virtual Tensor mask(std::int64_t, std::int64_t, std::int64_t) const {
    return Tensor(DType::u8, {0, 0});
  }
  virtual bool have_masks() const { return false; }
  // Whether those smaller than the input get black around them; else they are enlarged.
  virtual bool are_padded() const = 0;
};

// Throw UsageError where pictures cannot have so many channels. Sounds get silence around them up
// to the shape of the input.
std::unique_ptr<const Pictures> pictures_in_files(std::vector<ImageFile> files,
                                                  const ImageInput& input);
std::unique_ptr<const Pictures> pictures_with_masks(std::vector<MaskedImage> files, bool foreground,
                                                    std::int64_t channels);
std::unique_ptr<const Pictures> pictures_in_memory(const DataSet& set, const ImageInput& input);

}  // namespace narrowgauge
