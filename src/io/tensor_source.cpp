// SPDX-License-Identifier: Apache-2.0
// Data sets in memory as a source: rows are copied; images normalized, padded, channels repeated.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/machine/floating_environment.h"
#include "io/pictures/image_layout.h"

namespace narrowgauge {

DataSource::~DataSource() = default;

struct TensorSource::Images {
  std::int64_t channels = 0, height = 0, width = 0;  // of the set
  std::int64_t out_channels = 0, out_height = 0, out_width = 0;
  std::vector<float> mean, deviation;           // one for each channel of the result
  std::vector<std::array<float, 256>> of_byte;  // u8 images: the result per channel

  Images(const DataSet& set, const ImageTransform& transform);
  float normalized(float x, std::size_t channel) const {
    return (x - mean[channel]) / deviation[channel];
  }
  template <class Pixel>
  void write(const Pixel* image, float* out) const;
  template <class Pixel>
  void write_channel(const Pixel* plane, float* out, std::size_t channel) const;
};

namespace {

bool is_image_type(DType dtype) { return dtype == DType::u8 || dtype == DType::f32; }

std::vector<float> for_each_channel(const std::vector<float>& numbers, std::int64_t channels,
                                    const DataSet& set, const char* what) {
  const auto count = static_cast<std::size_t>(channels);
  require(numbers.size() == 1 || numbers.size() == count, "data ", set.name, ": expected 1 or ",
          channels, " numbers as ", what, ", got ", numbers.size());
  return numbers.size() == 1 ? std::vector<float>(count, numbers[0]) : numbers;
}

std::int64_t row_count(const std::vector<Tensor>& columns) {
  require(!columns.empty(), "tensor source: expected at least one column, got none");
  for (const Tensor& column : columns) {
    require(!column.dims().empty() && bits(column.dtype()) >= 8,
            "tensor source: expected columns [N, ...] of whole bytes, got ", column.type());
    require(column.dims()[0] == columns[0].dims()[0], "tensor source: expected ",
            columns[0].dims()[0], " rows in every column, got ", column.type());
  }
  return columns[0].dims()[0];
}

void copy_rows(const Tensor& column, std::span<const std::int64_t> indices, Tensor& batch) {
  if (column.bytes() == 0) return;
  const std::int64_t row = column.bytes() / column.dims()[0];
  std::byte* out = batch.data();
  for (const std::int64_t index : indices) out = std::copy_n(column.data() + index * row, row, out);
}

// Inputs, then targets; labels of classes as losses take them.
std::vector<Tensor> tensors_in(const DataSet& set) {
  std::vector<Tensor> columns;
  for (const NamedTensor& input : set.inputs) columns.push_back(input.tensor);
  for (const NamedTensor& target : set.targets) {
    const bool labels = set.classes > 0 && is_integer(target.tensor.dtype());
    columns.push_back(labels ? target.tensor.cast(DType::i64) : target.tensor);
  }
  return columns;
}

const Tensor& only(const std::vector<NamedTensor>& tensors, const DataSet& set, const char* what) {
  require(tensors.size() == 1, "data ", set.name, ": expected one ", what, ", got ",
          tensors.size());
  return tensors.front().tensor;
}

}  // namespace

std::int64_t DataSet::size() const {
  return inputs.empty() ? 0 : inputs.front().tensor.dims().at(0);
}
const Tensor& DataSet::input() const { return only(inputs, *this, "input"); }
const Tensor& DataSet::target() const { return only(targets, *this, "target"); }

TensorSource::Images::Images(const DataSet& set, const ImageTransform& transform) {
  const Dims& dims = set.input().dims();
  require(dims.size() == 4 && is_image_type(set.input().dtype()), "data ", set.name,
          ": expected u8 or f32 images [N,C,H,W], got ", set.input().type());
  channels = dims[1], height = dims[2], width = dims[3];
  out_channels = transform.channels ? transform.channels : channels;
  out_height = transform.height ? transform.height : height;
  out_width = transform.width ? transform.width : width;
  require(out_height >= height && out_width >= width, "data ", set.name, ": images of ", height,
          "x", width, " do not fit into ", out_height, "x", out_width);
  require(out_channels == channels || (channels == 1 && out_channels > 0), "data ", set.name,
          ": images of ", channels, " channels cannot be given ", out_channels);
  mean = for_each_channel(transform.mean, out_channels, set, "mean");
  deviation = for_each_channel(transform.deviation, out_channels, set, "deviation");
  for (const float m : mean)
    require(std::isfinite(m), "data ", set.name, ": expected a finite mean, got ", m);
  for (const float d : deviation)
    require(d > 0 && std::isfinite(d), "data ", set.name,
            ": expected a finite deviation above 0, got ", d);
  of_byte.resize(mean.size());
  for (std::size_t c = 0; c < mean.size(); ++c)
    for (std::size_t x = 0; x < 256; ++x)
      of_byte[c][x] = normalized(static_cast<float>(x) / 255.0f, c);
}

template <class Pixel>
void TensorSource::Images::write_channel(const Pixel* plane, float* out,
                                         std::size_t channel) const {
  const std::int64_t top = (out_height - height) / 2, left = (out_width - width) / 2;
  if (out_height > height || out_width > width)
    std::fill(out, out + out_height * out_width, normalized(0, channel));
  for (std::int64_t y = 0; y < height; ++y) {
    const Pixel* from = plane + y * width;
    float* to = out + (top + y) * out_width + left;
    for (std::int64_t x = 0; x < width; ++x) {
      if constexpr (std::is_same_v<Pixel, std::uint8_t>)
        to[x] = of_byte[channel][from[x]];
      else
        to[x] = normalized(from[x], channel);
    }
  }
}

template <class Pixel>
void TensorSource::Images::write(const Pixel* image, float* out) const {
  for (std::int64_t c = 0; c < out_channels; ++c)
    write_channel(image + (channels == 1 ? 0 : c * height * width),
                  out + c * out_height * out_width, static_cast<std::size_t>(c));
}

TensorSource::TensorSource(std::vector<Tensor> columns) : columns_(std::move(columns)) {
  row_count(columns_);
}

TensorSource::TensorSource(const DataSet& set) : TensorSource(tensors_in(set)) {}

TensorSource::TensorSource(const DataSet& set, const ImageTransform& transform)
    : TensorSource(set) {
  const FloatingEnvironment environment(Subnormals::keep);
  DataSet images = set;
  if (images.inputs.size() == 1)
    columns_[0] = images.inputs[0].tensor =
        channels_first_of(columns_[0], transform.layout, set.name);
  images_ = std::make_unique<Images>(images, transform);
  const TensorType labels = set.target().type();
  const bool classes = columns_[1].dtype() == DType::i64 && labels.shape.size() == 1;
  require(classes || labels.dtype == DType::f32, "data ", set.name,
          ": expected labels [N] of whole numbers, or f32 numbers, got ", labels);
}

TensorSource::~TensorSource() = default;

std::int64_t TensorSource::size() const { return columns_[0].dims()[0]; }

TensorTypes TensorSource::sample_types() const {
  TensorTypes types;
  for (const Tensor& column : columns_)
    types.push_back({column.dtype(), Shape(column.dims().begin() + 1, column.dims().end())});
  if (images_)
    types[0] = {DType::f32, {images_->out_channels, images_->out_height, images_->out_width}};
  return types;
}

void TensorSource::read(std::span<const std::int64_t> indices, std::span<Tensor> batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  require(batch.size() == columns_.size(), "tensor source: expected ", columns_.size(),
          " tensors to fill, got ", batch.size());
  for (const std::int64_t index : indices)
    require(index >= 0 && index < size(), "tensor source: sample ", index, " is outside [0, ",
            size(), ")");
  if (!images_) {
    for (std::size_t k = 0; k < columns_.size(); ++k) copy_rows(columns_[k], indices, batch[k]);
    return;
  }
  copy_rows(columns_[1], indices, batch[1]);
  const std::int64_t area = images_->channels * images_->height * images_->width;
  const std::int64_t out_area = images_->out_channels * images_->out_height * images_->out_width;
  float* out = batch[0].values<float>().data();
  for (const std::int64_t index : indices) {
    if (columns_[0].dtype() == DType::u8)
      images_->write(columns_[0].values<std::uint8_t>().data() + index * area, out);
    else
      images_->write(columns_[0].values<float>().data() + index * area, out);
    out += out_area;
  }
}

namespace {

struct Moments {
  double sum = 0, squares = 0;
};

// Byte sums are exact, and so the same in any order.
Moments moments_of(std::span<const std::uint8_t> plane) {
  std::int64_t sum = 0, squares = 0;
  for (const std::int64_t x : plane) sum += x, squares += x * x;
  return {static_cast<double>(sum) / 255.0, static_cast<double>(squares) / (255.0 * 255.0)};
}

Moments moments_of(std::span<const float> plane) {
  Moments result;
  for (const double x : plane) result.sum += x, result.squares += x * x;
  return result;
}

template <class Pixel>
Moments channel_moments(const Tensor& images, std::int64_t channel) {
  const Dims& dims = images.dims();
  const std::int64_t area = dims[2] * dims[3];
  const Pixel* const pixels = images.values<Pixel>().data();
  Moments total;
  for (std::int64_t n = 0; n < dims[0]; ++n) {
    const Pixel* const plane = pixels + (n * dims[1] + channel) * area;
    const Moments one = moments_of({plane, plane + area});
    total.sum += one.sum;
    total.squares += one.squares;
  }
  return total;
}

}  // namespace

ChannelStatistics channel_statistics(const Tensor& given, ImageLayout layout) {
  const FloatingEnvironment environment(Subnormals::keep);
  const Tensor images = channels_first_of(given, layout, "for channel statistics");
  const Dims& dims = images.dims();
  require(dims.size() == 4 && is_image_type(images.dtype()) && images.size() > 0,
          "channel statistics: expected u8 or f32 images [N,C,H,W], got ", images.type());
  ChannelStatistics result;
  for (std::int64_t c = 0; c < dims[1]; ++c) {
    const Moments total = images.dtype() == DType::u8 ? channel_moments<std::uint8_t>(images, c)
                                                      : channel_moments<float>(images, c);
    const double count = static_cast<double>(dims[0] * dims[2] * dims[3]);
    const double mean = total.sum / count;
    const double variance = std::max(0.0, total.squares / count - mean * mean);
    result.mean.push_back(static_cast<float>(mean));
    result.deviation.push_back(static_cast<float>(std::sqrt(variance)));
  }
  return result;
}

}  // namespace narrowgauge
