// SPDX-License-Identifier: Apache-2.0
#include "io/pictures/pictures.h"

#include <algorithm>

#include "io/files/shared_bytes.h"
#include "io/pictures/formats.h"
#include "io/pictures/image.h"
#include "io/pictures/image_layout.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

ImageColours colours_of(std::int64_t channels) {
  require(channels == 1 || channels == 3, "pictures: expected 1 channel (grey) or 3 (RGB), got ",
          channels);
  return channels == 3 ? ImageColours::rgb : ImageColours::grey;
}

// A spectrogram in the middle of silence, where it is narrower.
Tensor with_silence(Tensor picture, std::int64_t width) {
  const Dims& dims = picture.dims();
  if (dims[1] >= width) return picture;
  Tensor result(DType::u8, {dims[0], width, dims[2]});
  const std::int64_t from = dims[1] * dims[2], to = width * dims[2];
  const std::int64_t left = (width - dims[1]) / 2 * dims[2];
  for (std::int64_t y = 0; y < dims[0]; ++y)
    std::copy_n(picture.values<std::uint8_t>().data() + y * from, from,
                result.values<std::uint8_t>().data() + y * to + left);
  return result;
}

class InFiles : public Pictures {
 public:
  InFiles(std::vector<ImageFile> files, const ImageInput& input)
      : files_(std::move(files)),
        colours_(colours_of(input.channels)),
        height_(input.height),
        width_(input.width) {}
  std::int64_t size() const override { return std::ssize(files_); }
  std::int64_t label(std::int64_t index) const override { return file(index).label; }
  Tensor read(std::int64_t index) const override {
    const std::string& path = file(index).path;
    const SharedBytes bytes = map_file(path);
    Tensor picture = decode_upright(bytes.view(), path, colours_);
    if (!is_sound(bytes.view())) return picture;
    const std::int64_t rows = picture.dims()[0];
    return with_silence(std::move(picture), (rows * width_ + height_ - 1) / height_);
  }
  bool are_padded() const override { return false; }

 private:
  const ImageFile& file(std::int64_t index) const {
    return files_.at(static_cast<std::size_t>(index));
  }
  std::vector<ImageFile> files_;
  ImageColours colours_;
  std::int64_t height_, width_;  // of the input
};

class WithMasks : public Pictures {
 public:
  WithMasks(std::vector<MaskedImage> files, bool foreground, std::int64_t channels)
      : files_(std::move(files)), foreground_(foreground), colours_(colours_of(channels)) {}
  std::int64_t size() const override { return std::ssize(files_); }
  std::int64_t label(std::int64_t) const override { return 0; }
  Tensor read(std::int64_t index) const override { return read_image(file(index).path, colours_); }
  Tensor mask(std::int64_t index, std::int64_t height, std::int64_t width) const override {
    Tensor mask = read_mask_of(file(index).path, file(index).mask, height, width);
    if (!foreground_) return mask;
    for (std::uint8_t& number : mask.values<std::uint8_t>()) number = number != 0 ? 1 : 0;
    return mask;
  }
  bool have_masks() const override { return true; }
  bool are_padded() const override { return false; }

 private:
  const MaskedImage& file(std::int64_t index) const {
    return files_.at(static_cast<std::size_t>(index));
  }
  std::vector<MaskedImage> files_;
  bool foreground_;
  ImageColours colours_;
};

class InMemory : public Pictures {
 public:
  InMemory(const DataSet& set, const ImageInput& input)
      : images_(channels_first_of(set.input(), input.layout, set.name)),
        labels_(set.target()),
        channels_(input.channels) {
    const TensorType type = images_.type();
    require(type.dtype == DType::u8 && type.shape.size() == 4, "pictures: expected u8 [N,C,H,W], ",
            set.name, " has ", type);
    const std::int64_t given = images_.dims()[1];
    require(channels_ == given || given == 1, "pictures: images of ", given,
            " channels cannot be given ", channels_);
    require(labels_.dims().size() == 1 && labels_.dims()[0] == images_.dims()[0] &&
                !is_floating(labels_.dtype()),
            "pictures: expected labels of classes [N], ", set.name, " has ", labels_.type());
  }
  std::int64_t size() const override { return images_.dims()[0]; }
  std::int64_t label(std::int64_t index) const override {
    return static_cast<std::int64_t>(labels_.at(index));
  }
  Tensor read(std::int64_t index) const override {
    const Dims& dims = images_.dims();
    const std::int64_t area = dims[2] * dims[3];
    Tensor picture(DType::u8, {dims[2], dims[3], channels_});
    const std::uint8_t* const from = images_.values<std::uint8_t>().data() + index * dims[1] * area;
    std::uint8_t* const to = picture.values<std::uint8_t>().data();
    for (std::int64_t c = 0; c < channels_; ++c)
      for (std::int64_t i = 0; i < area; ++i)
        to[i * channels_ + c] = from[(dims[1] == 1 ? 0 : c) * area + i];
    return picture;
  }
  bool are_padded() const override { return true; }

 private:
  Tensor images_, labels_;
  std::int64_t channels_;
};

}  // namespace

std::unique_ptr<const Pictures> pictures_in_files(std::vector<ImageFile> files,
                                                  const ImageInput& input) {
  return std::make_unique<InFiles>(std::move(files), input);
}

std::unique_ptr<const Pictures> pictures_with_masks(std::vector<MaskedImage> files, bool foreground,
                                                    std::int64_t channels) {
  return std::make_unique<WithMasks>(std::move(files), foreground, channels);
}

std::unique_ptr<const Pictures> pictures_in_memory(const DataSet& set, const ImageInput& input) {
  return std::make_unique<InMemory>(set, input);
}

}  // namespace narrowgauge
