// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/format_census.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace narrowgauge {
namespace {

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double x = std::fabs(tensor.at(i)); std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

FateCounts plain_counts(const NumberFormat& format, const Tensor& tensor, double scale) {
  if (format.is_float()) return count_fates(format, tensor, scale);
  const double largest = largest_magnitude(tensor);
  return count_fates(format, tensor, largest > 0 ? format.largest / largest : 1);
}

FateCounts block_counts(const BlockFormat& format, const Tensor& tensor, double scale) {
  Tensor values = tensor.cast(DType::f32);
  if (tensor.dtype() == DType::f32) values = tensor.clone();
  const bool matrix = values.dims().size() > 1 && values.dims()[0] > 0;
  const std::int64_t rows = matrix ? values.dims()[0] : 1;
  values = values.reshaped({rows, values.size() / rows});
  for (float& x : values.values<float>()) x *= static_cast<float>(scale);
  const Tensor stored = dequantize(quantize(format, values));
  FateCounts counts{};
  const std::span<const float> before = values.values<float>(), after = stored.values<float>();
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(before[i])) continue;
    const Fate fate = after[i] == before[i]      ? Fate::exact
                      : !std::isfinite(after[i]) ? Fate::lost
                      : after[i] == 0            ? Fate::flushed
                                                 : Fate::rounded;
    ++counts[static_cast<std::size_t>(fate)];
  }
  return counts;
}

void accumulate(FateCounts& sum, const FateCounts& counts) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += counts[i];
}

}  // namespace

FormatCensus::FormatCensus(std::vector<const NumberFormat*> formats,
                           std::span<const NamedBlockFormat> blocks)
    : formats_(std::move(formats)) {
  for (const NumberFormat* format : formats_) rows_.push_back({format->name});
  for (const NamedBlockFormat& named : blocks) {
    blocks_.push_back(named.format);
    rows_.push_back({named.name, {}, true});
  }
}

void FormatCensus::add(const Tensor& tensor, double scale) {
  values_ += tensor.size();
  histogram_.add(tensor, scale);
  auto row = rows_.begin();
  for (const NumberFormat* format : formats_)
    accumulate((row++)->counts, plain_counts(*format, tensor, scale));
  for (const BlockFormat& format : blocks_)
    accumulate((row++)->counts, block_counts(format, tensor, scale));
}

}  // namespace narrowgauge
