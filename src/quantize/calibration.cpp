// SPDX-License-Identifier: Apache-2.0
#include "quantize/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "base/enumerate.h"
#include "base/threads/parallel.h"
#include "quantize/channels.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t values_at_once = std::int64_t{1} << 18;  // what one thread takes

Histogram histogram_of(std::span<const float> values) {
  Histogram all;
  std::mutex mutex;
  parallel_for(std::ssize(values), values_at_once, [&](std::int64_t begin, std::int64_t end) {
    Histogram part;
    part.add(
        values.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    const std::lock_guard lock(mutex);
    all.merge(part);
  });
  return all;
}

Channels calibrated_channels(const Dims& dims, int axis) {
  const auto along = channels_along(dims, axis);
  return along && dims.size() > 1 ? *along : one_channel(dims);
}

// The neighbours of a channel that stand in place `o` of `outer`.
std::span<const float> row_of(std::span<const float> values, const Channels& channels,
                              std::int64_t o, std::int64_t channel) {
  const std::int64_t first = (o * channels.count + channel) * channels.inner;
  return values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(channels.inner));
}

// Adds the values of channels from `begin` to `end` to their sums.
void add_long_rows(std::span<ExactSum> sums, std::span<const float> values,
                   const Channels& channels, std::int64_t begin, std::int64_t end) {
  for (std::int64_t o = 0; o < channels.outer; ++o)
    for (std::int64_t channel = begin; channel < end; ++channel)
      sums[static_cast<std::size_t>(channel)].add(row_of(values, channels, o, channel));
}

constexpr std::int64_t short_row = 16;

// Adds values as add_long_rows() does, for short rows. They are gathered first, those of some
// neighbouring channels at a time, because to add many values at once is faster.
void add_short_rows(std::span<ExactSum> sums, std::span<const float> values,
                    const Channels& channels, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t most_channels = 16, most_values = 512;
  std::array<std::array<float, most_values>, most_channels> gathered;
  const std::int64_t most_rows = most_values / channels.inner;
  for (std::int64_t c = begin; c < end; c += most_channels) {
    const auto width = static_cast<std::size_t>(std::min(most_channels, end - c));
    for (std::int64_t o = 0; o < channels.outer; o += most_rows) {
      std::size_t filled = 0;
      for (std::int64_t i = o; i < std::min(o + most_rows, channels.outer); ++i) {
        for (std::size_t k = 0, to = filled; k < width; ++k, to = filled)
          for (const float value : row_of(values, channels, i, c + static_cast<std::int64_t>(k)))
            gathered[k][to++] = value;
        filled += static_cast<std::size_t>(channels.inner);
      }
      for (std::size_t k = 0; k < width; ++k)
        sums[static_cast<std::size_t>(c) + k].add(std::span(gathered[k]).first(filled));
    }
  }
}

bool is_observed(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace

bool ChannelSums::fits(std::size_t channels, int axis) {
  if (sums_.empty() && !differ_) {
    sums_.resize(channels);
    axis_ = axis;
  }
  if (sums_.size() == channels && axis_ == axis && !differ_) return true;
  *this = {};
  differ_ = true;
  return false;
}

void ChannelSums::add(std::span<const float> values, const Dims& dims, int axis) {
  const Channels channels = calibrated_channels(dims, axis);
  if (channels.count == 0 || !fits(static_cast<std::size_t>(channels.count), axis)) return;
  if (values.empty()) return;
  const std::int64_t of_channel = channels.outer * channels.inner;
  const std::int64_t grain = std::max<std::int64_t>(16, values_at_once / of_channel);
  parallel_for(channels.count, grain, [&](std::int64_t begin, std::int64_t end) {
    (channels.inner > short_row ? add_long_rows : add_short_rows)(sums_, values, channels, begin,
                                                                  end);
  });
}

void ChannelSums::merge(const ChannelSums& other) {
  if (other.sums_.empty() && !other.differ_) return;
  if (!fits(other.sums_.size(), other.axis_)) return;
  for (const auto& [i, sum] : enumerate(other.sums_)) sums_[static_cast<std::size_t>(i)].merge(sum);
}

std::vector<double> ChannelSums::means() const {
  std::vector<double> means;
  for (const ExactSum& sum : sums_) means.push_back(sum.mean());
  return means;
}

ChannelSums ChannelSums::of(std::vector<ExactSum> sums, int axis, bool differ) {
  require(!sums.empty() || axis == 1, "channel sums: there are no channels along axis ", axis);
  require(sums.empty() || !differ, "channel sums: expected none where the channels differ");
  ChannelSums made;
  made.sums_ = std::move(sums);
  made.axis_ = axis;
  made.differ_ = differ;
  return made;
}

std::string difference(const CalibratedNetwork& one, const CalibratedNetwork& other) {
  constexpr double rounding = 1e-4;  // what machines may disagree in, relatively
  if (one.equalized != other.equalized)
    return one.equalized ? "its channels are equalized" : "its channels are not equalized";
  for (const auto& [name, size] : other.weights)
    if (!one.weights.contains(name)) return concat("it has no op '", name, '\'');
  for (const auto& [name, size] : one.weights) {
    const auto found = other.weights.find(name);
    if (found == other.weights.end()) return concat("it has an op '", name, '\'');
    if (!(std::abs(size - found->second) <= rounding * std::max(size, found->second)))
      return concat("the weights of '", name, "' are others");
  }
  return "";
}

Calibration::Calibration(std::vector<std::string> names)
    : Calibration(names, std::vector<ValueStatistics>(names.size()), 0) {}

Calibration::Calibration(std::vector<std::string> names, std::vector<ValueStatistics> values,
                         std::int64_t samples)
    : names_(std::move(names)), values_(std::move(values)), samples_(samples) {
  require(names_.size() == values_.size() && samples_ >= 0,
          "calibration: expected statistics for each value");
  for (const auto& [i, name] : enumerate(names_))
    require(places_.emplace(name, static_cast<std::size_t>(i)).second, "calibration: value '", name,
            "' stands twice");
}

std::size_t Calibration::place_of(std::string_view name) const {
  const auto found = places_.find(name);
  require(found != places_.end(), "calibration: there is no value '", name, "' among the ",
          names_.size(), " that are observed");
  return found->second;
}

const ValueStatistics& Calibration::of(std::string_view name) const {
  return values_[place_of(name)];
}

void Calibration::observe(std::string_view name, const Tensor& values, int axis) {
  ValueStatistics& statistics = values_[place_of(name)];
  require(is_observed(values.dtype()), "calibration: expected f32, f16 or bf16 as '", name,
          "', got ", values.dtype());
  const Tensor wide = values.dtype() == DType::f32 ? values : values.cast(DType::f32);
  statistics.histogram.merge(histogram_of(wide.values<float>()));
  statistics.channels.add(wide.values<float>(), wide.dims(), axis);
}

void Calibration::merge(const Calibration& other) {
  require(names_ == other.names_, "calibration: expected a part that observed the same values");
  const std::string differs = difference(other.network_, network_);
  require(differs.empty(), "calibration: a part is of another network: ", differs);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i].histogram.merge(other.values_[i].histogram);
    values_[i].channels.merge(other.values_[i].channels);
  }
  samples_ += other.samples_;
}

}  // namespace narrowgauge
