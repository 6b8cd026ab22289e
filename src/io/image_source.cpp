// SPDX-License-Identifier: Apache-2.0
// Pictures on their way into a batch: read, cut, resized, changed at random, normalized.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>

#include "base/log.h"
#include "base/machine/floating_environment.h"
#include "io/augment/augmentation.h"
#include "io/pictures/pictures.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t most_warnings = 10;
constexpr float most_bright = 255;

// One number for each channel, where there is one for all of them.
std::vector<float> spread(const std::vector<float>& numbers, const ImageInput& input,
                          const char* what) {
  const auto channels = static_cast<std::size_t>(input.channels);
  require(numbers.size() == 1 || numbers.size() == channels, "pictures: expected 1 or ",
          input.channels, " numbers as ", what, ", got ", numbers.size());
  for (const float number : numbers)
    require(std::isfinite(number), "pictures: expected finite numbers as ", what, ", got ", number);
  return numbers.size() == 1 ? std::vector<float>(channels, numbers[0]) : numbers;
}

Tensor as_floats(const Tensor& picture) {
  Tensor result(DType::f32, picture.dims());
  std::ranges::copy(picture.values<std::uint8_t>(), result.values<float>().begin());
  return result;
}

// The picture in the middle of black.
Tensor padded(const Tensor& picture, std::int64_t height, std::int64_t width) {
  const Dims& dims = picture.dims();
  Tensor result(DType::f32, {height, width, dims[2]});
  const std::int64_t top = (height - dims[0]) / 2, left = (width - dims[1]) / 2;
  const std::int64_t row = dims[1] * dims[2];
  for (std::int64_t y = 0; y < dims[0]; ++y)
    std::copy_n(picture.values<std::uint8_t>().data() + y * row, row,
                result.values<float>().data() + ((top + y) * width + left) * dims[2]);
  return result;
}

ImageBox whole_of(std::int64_t height, std::int64_t width) {
  return {0, 0, static_cast<double>(height), static_cast<double>(width)};
}

// The part of a mask in another size, each pixel that which is nearest.
Tensor resized_mask(const Tensor& mask, const ImageBox& box, std::int64_t height,
                    std::int64_t width) {
  const std::int64_t rows = mask.dims()[0], columns = mask.dims()[1];
  const double down = (box.bottom - box.top) / static_cast<double>(height);
  const double across = (box.right - box.left) / static_cast<double>(width);
  const auto place = [](double begin, double step, std::int64_t i, std::int64_t count) {
    const double at = begin + step * (static_cast<double>(i) + 0.5);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, count - 1);
  };
  Tensor result(DType::u8, {height, width});
  std::uint8_t* to = result.values<std::uint8_t>().data();
  for (std::int64_t y = 0; y < height; ++y) {
    const std::uint8_t* const row =
        mask.values<std::uint8_t>().data() + place(box.top, down, y, rows) * columns;
    for (std::int64_t x = 0; x < width; ++x) *to++ = row[place(box.left, across, x, columns)];
  }
  return result;
}

}  // namespace

struct ImageSource::Implementation {
  std::unique_ptr<const Pictures> pictures;
  ImageInput input;
  std::vector<float> mean, scale;  // of each channel: (pixel - mean) * scale
  std::vector<std::unique_ptr<Augmentation>> changes;
  mutable std::mutex mutex;        // of what follows
  std::set<std::int64_t> damaged;  // pictures

  Implementation(std::unique_ptr<const Pictures> from, const ImageInput& how)
      : pictures(std::move(from)), input(how), changes(parse_augmentations(how.augment)) {
    require(input.height > 0 && input.width > 0, "pictures: expected an input of 1x1 or more, got ",
            input.height, 'x', input.width);
    for (const auto& change : changes)
      require(!pictures->have_masks() || change->takes_masks(),
              "augment: one of the changes is for pictures without masks");
    mean = spread(input.statistics.mean, input, "mean");
    scale = spread(input.statistics.deviation, input, "deviation");
    for (float& each : mean) each *= most_bright;
    for (float& each : scale) {
      require(each > 0, "pictures: expected a deviation above 0, got ", each);
      each = 1 / (each * most_bright);
    }
  }

  AugmentedImage begin(std::int64_t index, Draws& draws) const;
  AugmentedImage begin_masked(std::int64_t index, const Tensor& picture,
                              std::optional<ImageBox> box) const;
  AugmentedImage make(std::int64_t index, std::int64_t epoch, std::size_t changed_by) const;
  void write(const Tensor& pixels, float* to) const;
  void write_target(const AugmentedImage& image, std::int64_t* targets, std::int64_t row) const;
  bool note_damaged(std::int64_t index, const DataError& error);
};

// The picture in the size of the input.
AugmentedImage ImageSource::Implementation::begin(std::int64_t index, Draws& draws) const {
  const Tensor picture = pictures->read(index);
  const std::int64_t height = picture.dims()[0], width = picture.dims()[1];
  std::optional<ImageBox> box;
  for (const auto& change : changes)
    if (auto chosen = change->cut({height, width}, draws)) box = chosen;
  if (pictures->have_masks()) return begin_masked(index, picture, box);
  const bool is_small = height <= input.height && width <= input.width;
  const std::int64_t label = pictures->label(index);
  if (!box && height == input.height && width == input.width) return {as_floats(picture), label};
  if (!box && is_small && pictures->are_padded())
    return {padded(picture, input.height, input.width), label};
  if (!box && input.whole) box = whole_of(height, width);
  if (!box) box = middle_box(height, width, input.height, input.width);
  return {resized_image(picture, *box, input.height, input.width), label};
}

// Whole pictures: a prediction is for each of their pixels.
AugmentedImage ImageSource::Implementation::begin_masked(std::int64_t index, const Tensor& picture,
                                                         std::optional<ImageBox> box) const {
  const std::int64_t height = picture.dims()[0], width = picture.dims()[1];
  const Tensor mask = pictures->mask(index, height, width);
  if (!box) box = whole_of(height, width);
  return {resized_image(picture, *box, input.height, input.width), 0,
          resized_mask(mask, *box, input.height, input.width)};
}

// Makes a sample with its first `changed_by` changes: mixtures ask for others with those before
// them alone, so that none asks for ever.
AugmentedImage ImageSource::Implementation::make(std::int64_t index, std::int64_t epoch,
                                                 std::size_t changed_by) const {
  Draws draws(input.seed, epoch, index);
  AugmentedImage image = begin(index, draws);
  AugmentContext context{draws, mean, pictures->size(), {}};
  for (std::size_t i = 0; i < changed_by; ++i) {
    context.other = [&, i](std::int64_t other) { return make(other, epoch, i); };
    changes[i]->change(image, context);
  }
  return image;
}

void ImageSource::Implementation::write(const Tensor& pixels, float* to) const {
  const std::int64_t area = input.height * input.width;
  const float* from = pixels.values<float>().data();
  for (std::int64_t i = 0; i < area; ++i)
    for (std::size_t c = 0; c < mean.size(); ++c, ++from)
      to[static_cast<std::int64_t>(c) * area + i] = (*from - mean[c]) * scale[c];
}

void ImageSource::Implementation::write_target(const AugmentedImage& image, std::int64_t* targets,
                                               std::int64_t row) const {
  if (!pictures->have_masks()) {
    targets[row] = image.label;
    return;
  }
  constexpr std::int64_t counts_for_nothing = -100;
  std::int64_t* to = targets + row * input.height * input.width;
  for (const std::uint8_t label : image.mask.values<std::uint8_t>())
    *to++ = label == unknown_pixel ? counts_for_nothing : label;
}

// Warns of the first damaged pictures, each once; false where a damaged picture is an error.
bool ImageSource::Implementation::note_damaged(std::int64_t index, const DataError& error) {
  if (input.strict) return false;
  const std::lock_guard lock(mutex);
  if (!damaged.insert(index).second) return true;
  const std::int64_t count = std::ssize(damaged);
  if (count <= most_warnings) log(LogLevel::warning, concat(error.what(), "; left out"));
  if (count == most_warnings)
    log(LogLevel::warning, "further pictures that cannot be read are only counted");
  return true;
}

ImageSource::ImageSource(std::vector<ImageFile> files, const ImageInput& input)
    : implementation_(
          std::make_unique<Implementation>(pictures_in_files(std::move(files), input), input)) {}

ImageSource::ImageSource(std::vector<MaskedImage> files, bool foreground, const ImageInput& input)
    : implementation_(std::make_unique<Implementation>(
          pictures_with_masks(std::move(files), foreground, input.channels), input)) {}

ImageSource::ImageSource(const DataSet& set, const ImageInput& input)
    : implementation_(std::make_unique<Implementation>(pictures_in_memory(set, input), input)) {}

ImageSource::~ImageSource() = default;

std::int64_t ImageSource::size() const { return implementation_->pictures->size(); }

TensorTypes ImageSource::sample_types() const {
  const ImageInput& input = implementation_->input;
  const Shape target =
      implementation_->pictures->have_masks() ? Shape{input.height, input.width} : Shape{};
  return {{DType::f32, {input.channels, input.height, input.width}}, {DType::i64, target}};
}

void ImageSource::read(std::span<const std::int64_t> indices, std::span<Tensor> batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  const std::vector<std::int64_t> damaged = read_epoch(indices, 0, batch);
  require<DataError>(damaged.empty(), "pictures: ", damaged.size(), " of ", indices.size(),
                     " cannot be read");
}

std::vector<std::int64_t> ImageSource::read_epoch(std::span<const std::int64_t> indices,
                                                  std::int64_t epoch, std::span<Tensor> batch) {
  Implementation& self = *implementation_;
  require(batch.size() == 2, "pictures: expected 2 tensors to fill, got ", batch.size());
  const std::int64_t sample = self.input.channels * self.input.height * self.input.width;
  std::vector<std::int64_t> damaged;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    require(indices[i] >= 0 && indices[i] < size(), "pictures: ", indices[i], " is outside of [0, ",
            size(), ")");
    const auto row = static_cast<std::int64_t>(i);
    try {
      const AugmentedImage image = self.make(indices[i], epoch, self.changes.size());
      self.write(image.pixels, batch[0].values<float>().data() + row * sample);
      self.write_target(image, batch[1].values<std::int64_t>().data(), row);
    } catch (const DataError& error) {
      if (!self.note_damaged(indices[i], error)) throw;
      damaged.push_back(row);
    }
  }
  return damaged;
}

std::int64_t ImageSource::damaged() const {
  const std::lock_guard lock(implementation_->mutex);
  return std::ssize(implementation_->damaged);
}

ChannelStatistics channel_statistics(const std::vector<ImageFile>& files, const ImageInput& input) {
  const FloatingEnvironment environment(Subnormals::keep);
  constexpr std::size_t most = 512;
  const std::size_t step = std::max<std::size_t>((files.size() + most - 1) / most, 1);
  std::vector<ImageFile> some;
  for (std::size_t i = 0; i < files.size(); i += step) some.push_back(files[i]);
  ImageInput plain = input;
  plain.statistics = {{0.0f}, {1.0f}};
  plain.augment.clear();
  const auto source = std::make_shared<ImageSource>(std::move(some), plain);
  BatchLoader loader(source, {.batch = 16, .shuffle = false, .keep_last = true, .epochs = 1});
  const auto channels = static_cast<std::size_t>(input.channels);
  std::vector<double> sums(channels), squares(channels);
  double count = 0;
  const std::int64_t area = input.height * input.width;
  while (const std::optional<Batch> batch = loader.next()) {
    const Tensor& images = batch->tensors[0];
    const std::span<const float> pixels = images.values<float>();
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t channel = i / static_cast<std::size_t>(area) % channels;
      const double x = pixels[i];
      sums[channel] += x;
      squares[channel] += x * x;
    }
    count += static_cast<double>(images.dims()[0] * area);
  }
  require<DataError>(count > 0, "pictures: none of them can be read");
  ChannelStatistics result;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / count;
    result.mean.push_back(static_cast<float>(mean));
    result.deviation.push_back(
        static_cast<float>(std::sqrt(std::max(0.0, squares[c] / count - mean * mean))));
  }
  return result;
}

}  // namespace narrowgauge
