// SPDX-License-Identifier: Apache-2.0
#include "quantize/calibration.h"

#include <algorithm>
#include <mutex>

#include "base/enumerate.h"
#include "base/parallel.h"

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

bool is_observed(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

}  // namespace

bool ChannelSums::fits(std::size_t channels) {
  if (sums_.empty() && !differ_) sums_.resize(channels);
  if (sums_.size() == channels && !differ_) return true;
  differ_ = true;
  sums_.clear();
  return false;
}

void ChannelSums::add(std::span<const float> values, const Dims& dims) {
  const bool has_channels = dims.size() > 1;
  const std::int64_t channels = has_channels ? dims[1] : 1;
  if (channels == 0 || !fits(static_cast<std::size_t>(channels))) return;
  const std::int64_t size = std::ssize(values), images = has_channels ? dims[0] : 1;
  const std::int64_t row = images > 0 ? size / (images * channels) : 0;
  const std::int64_t grain = std::max<std::int64_t>(1, values_at_once * channels / (size + 1));
  parallel_for(channels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = 0; image < images; ++image)
      for (std::int64_t channel = begin; channel < end; ++channel) {
        const std::int64_t first = (image * channels + channel) * row;
        sums_[static_cast<std::size_t>(channel)].add(
            values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(row)));
      }
  });
}

void ChannelSums::merge(const ChannelSums& other) {
  if (other.sums_.empty() && !other.differ_) return;
  if (!fits(other.sums_.size())) return;
  for (const auto& [i, sum] : enumerate(other.sums_)) sums_[static_cast<std::size_t>(i)].merge(sum);
}

std::vector<double> ChannelSums::means() const {
  std::vector<double> means;
  for (const ExactSum& sum : sums_) means.push_back(sum.mean());
  return means;
}

ChannelSums ChannelSums::of(std::vector<ExactSum> sums, bool differ) {
  require(sums.empty() || !differ, "channel sums: expected none where the channels differ");
  ChannelSums made;
  made.sums_ = std::move(sums);
  made.differ_ = differ;
  return made;
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

void Calibration::observe(std::string_view name, const Tensor& values) {
  ValueStatistics& statistics = values_[place_of(name)];
  require(is_observed(values.dtype()), "calibration: expected f32, f16 or bf16 as '", name,
          "', got ", values.dtype());
  const Tensor wide = values.dtype() == DType::f32 ? values : values.cast(DType::f32);
  statistics.histogram.merge(histogram_of(wide.values<float>()));
  statistics.channels.add(wide.values<float>(), wide.dims());
}

void Calibration::merge(const Calibration& other) {
  require(names_ == other.names_, "calibration: expected a part that observed the same values");
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i].histogram.merge(other.values_[i].histogram);
    values_[i].channels.merge(other.values_[i].channels);
  }
  samples_ += other.samples_;
}

}  // namespace narrowgauge
