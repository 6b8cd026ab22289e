// SPDX-License-Identifier: Apache-2.0
#include "runtime/not_finite_samples.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/threads/parallel.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

using Infinities = NotFiniteSamples::Infinities;

// Whole numbers, of which no setting of the CPU sees NaN.
template <class Bits>
bool holds_not_finite(const Bits* values, std::int64_t count, Bits infinity, Infinities which) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits also = which == Infinities::all ? infinity | sign : infinity;
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Bits value = values[i], magnitude = value & static_cast<Bits>(~sign);
    found |= static_cast<Bits>(magnitude > infinity) | static_cast<Bits>(value == infinity) |
             static_cast<Bits>(value == also);
  }
  return found != 0;
}

bool holds_not_finite(DType dtype, const void* data, std::int64_t first, std::int64_t count,
                      Infinities which) {
  const auto from = [&]<class Bits>(Bits infinity) {
    return holds_not_finite(static_cast<const Bits*>(data) + first, count, infinity, which);
  };
  if (dtype == DType::f32) return from(std::uint32_t{0x7f800000});
  if (dtype == DType::f64) return from(std::uint64_t{0x7ff0000000000000});
  return from(dtype == DType::f16 ? std::uint16_t{0x7c00} : std::uint16_t{0x7f80});
}

void fill_with_nan(Tensor& tensor, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i)
    store_element(tensor.dtype(), tensor.data(), i, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

void NotFiniteSamples::begin(std::int64_t samples, std::int64_t samples_of_part) {
  samples_of_part_ = samples_of_part;
  marked_.assign(static_cast<std::size_t>(samples), 0);
}

void NotFiniteSamples::mark(std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i)
    std::atomic_ref(marked_[static_cast<std::size_t>(i)]).store(1, std::memory_order_relaxed);
}

void NotFiniteSamples::look_at(const QuantizedInput& value, const void* data, Infinities which,
                               std::int64_t part) {
  constexpr std::int64_t at_once = 1 << 15;  // elements
  const std::int64_t first = part * samples_of_part_, count = element_count(value.dims);
  const bool apart = value.rows_follow && !value.dims.empty() && value.dims[0] == samples_of_part_;
  const std::int64_t rows = apart ? std::max<std::int64_t>(samples_of_part_, 1) : 1;
  const std::int64_t row = count / rows, pieces = (row + at_once - 1) / at_once;
  const std::int64_t grain = std::max<std::int64_t>(at_once / std::max<std::int64_t>(row, 1), 1);
  parallel_for(rows * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t from = i % pieces * at_once, size = std::min(at_once, row - from);
      if (!holds_not_finite(value.dtype, data, i / pieces * row + from, size, which)) continue;
      apart ? mark(first + i / pieces, 1) : mark(first, samples_of_part_);
    }
  });
}

bool NotFiniteSamples::any() const {
  return std::ranges::any_of(marked_, [](std::uint8_t each) { return each != 0; });
}

void NotFiniteSamples::put_into(std::span<Tensor> outputs) const {
  if (!any()) return;
  const std::int64_t samples = std::ssize(marked_);
  for (Tensor& output : outputs) {
    if (!is_floating(output.dtype())) continue;
    const bool apart = !output.dims().empty() && output.dims()[0] == samples;
    const std::int64_t row = apart ? output.size() / samples : output.size();
    for (std::int64_t i = 0; i < (apart ? samples : 1); ++i)
      if (!apart || marked_[static_cast<std::size_t>(i)]) fill_with_nan(output, i * row, row);
  }
}

}  // namespace narrowgauge
