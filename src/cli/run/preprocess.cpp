// SPDX-License-Identifier: Apache-2.0
#include "cli/run/preprocess.h"

#include "cli/flags/shape_flag.h"
#include "cli/run/inputs.h"

namespace narrowgauge::cli {

namespace {

double of_channel(const std::vector<double>& numbers, std::int64_t channel, double otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

void require_channels(const char* flag, const std::vector<double>& numbers, std::int64_t channels) {
  require(numbers.size() <= 1 || std::ssize(numbers) == channels, flag, ": ", numbers.size(),
          " numbers for ", channels, " channels");
}

}  // namespace

Preprocess::Preprocess(const InputFlags& flags) {
  if (flags.mean) mean_ = parse_numbers("--mean", *flags.mean);
  if (flags.scale) scale_ = parse_numbers("--scale", *flags.scale);
  channels_last_ = flags.layout == "nhwc";
}

Tensor Preprocess::apply(const Tensor& image, ChannelsOf order) const {
  const bool moves = order.from_last != order.to_last;
  if (mean_.empty() && scale_.empty() && !moves) return image;
  const Dims& dims = image.dims();
  require(dims.size() == 3 || dims.size() == 4,
          "--mean, --scale and --layout: expected an image or a batch of images, got ",
          image.type());
  const std::size_t first = dims.size() - 3;  // axis of the channels, or of the height
  const std::int64_t batch = first == 0 ? 1 : dims[0];
  const std::int64_t channels = dims[order.from_last ? first + 2 : first];
  const std::int64_t height = dims[order.from_last ? first : first + 1];
  const std::int64_t width = dims[order.from_last ? first + 1 : first + 2];
  require_channels("--mean", mean_, channels);
  require_channels("--scale", scale_, channels);
  const bool changes = !mean_.empty() || !scale_.empty() || image.dtype() != DType::u8;
  Tensor result(changes ? DType::f32 : DType::u8, order.to_last
                                                      ? Dims{batch, height, width, channels}
                                                      : Dims{batch, channels, height, width});
  const std::int64_t pixels = height * width;
  const auto place = [&](std::int64_t sample, std::int64_t pixel, std::int64_t channel, bool last) {
    return last ? (sample * pixels + pixel) * channels + channel
                : (sample * channels + channel) * pixels + pixel;
  };
  for (std::int64_t sample = 0; sample < batch; ++sample)
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const double mean = of_channel(mean_, channel, 0), scale = of_channel(scale_, channel, 1);
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const double value = image.at(place(sample, pixel, channel, order.from_last));
        result.set(place(sample, pixel, channel, order.to_last), (value - mean) * scale);
      }
    }
  return result;
}

}  // namespace narrowgauge::cli
