// SPDX-License-Identifier: Apache-2.0
// The loops of quantized_finish.h over vectors of 16 columns. Vectors has Floats, Ints and the few
// operations on them, which give the same bits for every tier. Calls nothing that is compiled for
// several tiers, since the linker would keep one of them.
#pragma once

#include <cstring>

#include "kernels/cpu/bytes/quantized_finish.h"

namespace narrowgauge::cpu {

enum class QuantizedResidual : std::uint8_t { none, f32, u8, i8 };

template <class Vectors, DType y_dtype, QuantizedResidual residual>
class QuantizedPanel {
 public:
  QuantizedPanel(const QuantizedFinish& finish, const QuantizedPlace& place, std::int64_t at)
      : finish_(finish),
        place_(place),
        at_(at),
        columns_(place.columns - at < quantized_panel ? place.columns - at : quantized_panel) {}

  [[gnu::always_inline]] void run() const {
    const std::int64_t column = place_.column + at_;
    const Floats factors = Vectors::load(finish_.factors + column),
                 biases = Vectors::load(finish_.biases + column);
    const Floats low = Vectors::set(finish_.low), high = Vectors::set(finish_.high);
    const Floats r_factor = Vectors::set(finish_.residual_factor),
                 r_zero = Vectors::set(finish_.residual_zero);
    for (std::int64_t row = 0; row < place_.rows; ++row) {
      Floats y = Vectors::fma(Vectors::numbers(sums(row, column)), factors, biases);
      if constexpr (residual != QuantizedResidual::none)
        y = Vectors::fma(Vectors::sub(residuals(row), r_zero), r_factor, y);
      store(row, Vectors::min(high, Vectors::max(low, y)));  // NaN stays
    }
  }

 private:
  using Floats = typename Vectors::Floats;
  using Ints = typename Vectors::Ints;
  static constexpr std::int64_t y_size = y_dtype == DType::f32 ? 4 : 1;
  static constexpr std::int64_t r_size = residual == QuantizedResidual::f32 ? 4 : 1;

  bool whole() const { return columns_ == quantized_panel; }

  [[gnu::always_inline]] Ints sums(std::int64_t row, std::int64_t column) const {
    Ints sums = Vectors::load(place_.sums + row * place_.sums_pitch + at_);
    if (finish_.zeros)
      sums = Vectors::sub(sums, Vectors::mul(Vectors::set(place_.row_sums[row]),
                                             Vectors::load(finish_.zeros + column)));
    return finish_.offsets ? Vectors::sub(sums, Vectors::load(finish_.offsets + column)) : sums;
  }

  [[gnu::always_inline]] Floats residuals(std::int64_t row) const {
    const std::byte* from = place_.residual + (row * place_.pitch + at_) * r_size;
    std::byte few[4 * quantized_panel];
    if (!whole()) {
      std::memset(few, 0, sizeof few);
      from = static_cast<const std::byte*>(
          std::memcpy(few, from, static_cast<std::size_t>(columns_ * r_size)));
    }
    if constexpr (residual == QuantizedResidual::f32)
      return Vectors::load(reinterpret_cast<const float*>(from));
    else
      return Vectors::template bytes<residual == QuantizedResidual::u8>(from);
  }

  [[gnu::always_inline]] void store(std::int64_t row, Floats y) const {
    std::byte* const to = place_.y + (row * place_.pitch + at_) * y_size;
    std::byte few[4 * quantized_panel];
    std::byte* const stored = whole() ? to : few;
    if constexpr (y_dtype == DType::f32)
      Vectors::store(reinterpret_cast<float*>(stored), y);
    else
      Vectors::template store_bytes<y_dtype == DType::u8>(stored, y, finish_.y_zero);
    if (!whole()) std::memcpy(to, few, static_cast<std::size_t>(columns_ * y_size));
  }

  // Copies: results are bytes, which might lie anywhere for all that the compiler knows.
  const QuantizedFinish finish_;
  const QuantizedPlace place_;
  const std::int64_t at_, columns_;
};

template <class Vectors, DType y, QuantizedResidual residual>
void finish_panels(const QuantizedFinish& finish, const QuantizedPlace& place) {
  for (std::int64_t at = 0; at < place.columns; at += quantized_panel)
    QuantizedPanel<Vectors, y, residual>(finish, place, at).run();
}

template <class Vectors, DType y>
void finish_residual(const QuantizedFinish& finish, const QuantizedPlace& place) {
  if (!place.residual) return finish_panels<Vectors, y, QuantizedResidual::none>(finish, place);
  if (finish.residual == DType::f32)
    return finish_panels<Vectors, y, QuantizedResidual::f32>(finish, place);
  if (finish.residual == DType::u8)
    return finish_panels<Vectors, y, QuantizedResidual::u8>(finish, place);
  return finish_panels<Vectors, y, QuantizedResidual::i8>(finish, place);
}

template <class Vectors>
void finish_any(const QuantizedFinish& finish, const QuantizedPlace& place) {
  if (finish.y == DType::f32) return finish_residual<Vectors, DType::f32>(finish, place);
  if (finish.y == DType::u8) return finish_residual<Vectors, DType::u8>(finish, place);
  return finish_residual<Vectors, DType::i8>(finish, place);
}

}  // namespace narrowgauge::cpu
