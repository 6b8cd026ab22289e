// SPDX-License-Identifier: Apache-2.0
// The loops of quantized_finish.h over vectors of 16 columns. Vectors has Floats, Ints and the few
// operations on them, which give the same bits for every tier. Calls nothing that is compiled for
// several tiers, since the linker would keep one of them.
#pragma once

#include <cstring>

#include "kernels/cpu/bytes/quantized_finish.h"

namespace narrowgauge::cpu {

// What results are. Whether bytes have a sign is no matter of the code: with their upper bit
// flipped, signed ones are unsigned ones whose zero point is larger by signed_offset().
enum class QuantizedResult : std::uint8_t { f32, bf16, bytes };
// The epilogue of the scaled sums: a residual of a format, or gelu.
enum class QuantizedBehind : std::uint8_t { none, f32, bytes, gelu };

[[gnu::always_inline]] constexpr std::int32_t signed_offset(DType bytes) {
  return bytes == DType::i8 ? 128 : 0;
}

// Whether saturation_bounds() may be true.
template <QuantizedResult y, QuantizedBehind behind>
inline constexpr bool may_saturate = y != QuantizedResult::f32&& behind != QuantizedBehind::f32;

// What a panel's columns need, and the formula of quantized_finish.h.
template <class Vectors, QuantizedResult result, QuantizedBehind behind>
class QuantizedColumnNumbers {
 public:
  using Floats = typename Vectors::Floats;
  using Ints = typename Vectors::Ints;
  static constexpr std::int64_t y_size = result == QuantizedResult::f32    ? 4
                                         : result == QuantizedResult::bf16 ? 2
                                                                           : 1;
  static constexpr bool has_residual =
      behind != QuantizedBehind::none && behind != QuantizedBehind::gelu;
  static constexpr std::int64_t r_size = behind == QuantizedBehind::f32 ? 4 : 1;

  QuantizedColumnNumbers(const QuantizedFinish& finish, std::int64_t column)
      : factors_(Vectors::load(finish.factors + column)),
        biases_(Vectors::load(finish.biases + column)),
        low_(Vectors::set(finish.low)),
        high_(Vectors::set(finish.high)),
        r_factor_(Vectors::set(finish.residual_factor)),
        r_zero_(behind == QuantizedBehind::f32
                    ? Vectors::set(finish.residual_zero)
                    : Vectors::byte_zero(finish.residual_zero +
                                         static_cast<float>(signed_offset(finish.residual)))),
        gelu_factor_(Vectors::set(finish.gelu_factor)),
        r_flip_(Vectors::flip(finish.residual == DType::i8)),
        y_flip_(Vectors::flip(finish.y == DType::i8)),
        y_zero_(finish.y_zero + signed_offset(finish.y)) {}

  // Turns sums less their zero points, and sixteen residuals, into steps of y.
  [[gnu::always_inline]] Floats steps(Ints sums, const std::byte* r) const {
    return Vectors::min(high_, Vectors::max(low_, unbounded(sums, r)));  // NaN stays
  }
  [[gnu::always_inline]] Floats unbounded(Ints sums, const std::byte* r) const {
    const Floats y = scaled(sums);
    if constexpr (behind == QuantizedBehind::none)
      return y;
    else if constexpr (behind == QuantizedBehind::gelu)
      return Vectors::mul(Vectors::gelu(y), gelu_factor_);
    else
      return Vectors::fma(residuals(r), r_factor_, y);
  }
  [[gnu::always_inline]] Floats scaled(Ints sums) const {
    return Vectors::fma(Vectors::numbers(sums), factors_, biases_);
  }
  // Turns what gelu gave into steps of y.
  template <bool saturates>
  [[gnu::always_inline]] Floats after_gelu(Floats x) const {
    const Floats y = Vectors::mul(x, gelu_factor_);
    return saturates ? y : Vectors::min(high_, Vectors::max(low_, y));  // NaN stays
  }
  [[gnu::always_inline]] void finish(Ints sums, const std::byte* r, std::byte* to) const {
    const Floats y = steps(sums, r);
    if constexpr (result == QuantizedResult::f32)
      Vectors::store(reinterpret_cast<float*>(to), y);
    else if constexpr (result == QuantizedResult::bf16)
      Vectors::store_bf16(to, y);
    else
      Vectors::store_bytes(to, y, y_zero_, y_flip_);
  }

 private:
  // Residuals less their zero point.
  [[gnu::always_inline]] Floats residuals(const std::byte* from) const {
    if constexpr (behind == QuantizedBehind::f32)
      return Vectors::sub(Vectors::load(reinterpret_cast<const float*>(from)), r_zero_);
    else
      return Vectors::bytes_less(from, r_flip_, r_zero_);
  }

  Floats factors_, biases_, low_, high_, r_factor_, r_zero_, gelu_factor_;
  typename Vectors::Flip r_flip_, y_flip_;
  std::int32_t y_zero_;
};

// Sixteen sums of a row, from column `at` of the place on.
template <class Vectors>
[[gnu::always_inline]] inline typename Vectors::Ints sums_less_zeros(const QuantizedFinish& finish,
                                                                     const QuantizedPlace& place,
                                                                     std::int64_t row,
                                                                     std::int64_t at) {
  const std::int64_t column = place.column + at;
  typename Vectors::Ints sums = Vectors::load(place.sums + row * place.sums_pitch + at);
  if (finish.zeros)
    sums = Vectors::sub(sums, Vectors::mul(Vectors::set(place.row_sums[row]),
                                           Vectors::load(finish.zeros + column)));
  return finish.starts ? Vectors::add(sums, Vectors::load(finish.starts + column)) : sums;
}

template <class Vectors, QuantizedResult y, QuantizedBehind behind>
class QuantizedPanel {
 public:
  QuantizedPanel(const QuantizedFinish& finish, const QuantizedPlace& place, std::int64_t at)
      : finish_(finish),
        place_(place),
        at_(at),
        columns_(place.columns - at < quantized_panel ? place.columns - at : quantized_panel),
        numbers_(finish, place.column + at) {}

  [[gnu::always_inline]] void run() const {
    for (std::int64_t row = 0; row < place_.rows; ++row) {
      const std::int64_t at = row * place_.pitch + at_;
      const std::byte* const r =
          Numbers::has_residual ? place_.residual + at * Numbers::r_size : nullptr;
      std::byte* const to = place_.y + at * Numbers::y_size;
      if (columns_ == quantized_panel)
        numbers_.finish(sums(row), r, to);
      else
        finish_few(sums(row), r, to);
    }
  }

 private:
  using Numbers = QuantizedColumnNumbers<Vectors, y, behind>;
  using Ints = typename Vectors::Ints;

  [[gnu::always_inline]] Ints sums(std::int64_t row) const {
    return sums_less_zeros<Vectors>(finish_, place_, row, at_);
  }
  [[gnu::always_inline]] void finish_few(Ints sums, const std::byte* r, std::byte* to) const {
    std::byte few_r[4 * quantized_panel]{}, few[4 * quantized_panel];
    if constexpr (Numbers::has_residual)
      std::memcpy(few_r, r, static_cast<std::size_t>(columns_ * Numbers::r_size));
    numbers_.finish(sums, few_r, few);
    std::memcpy(to, few, static_cast<std::size_t>(columns_ * Numbers::y_size));
  }

  // Copies: results are bytes, which might lie anywhere for all that the compiler knows.
  const QuantizedFinish finish_;
  const QuantizedPlace place_;
  const std::int64_t at_, columns_;
  const Numbers numbers_;
};

// The panels from column `at` of the place on.
template <class Vectors, QuantizedResult y, QuantizedBehind behind>
void finish_panels(const QuantizedFinish& finish, const QuantizedPlace& place,
                   std::int64_t at = 0) {
  for (; at < place.columns; at += quantized_panel)
    QuantizedPanel<Vectors, y, behind>(finish, place, at).run();
}

// Calls run.template operator()<what results are, what their epilogue is>().
template <class Run>
void with_quantized_types(const QuantizedFinish& finish, const QuantizedPlace& place,
                          const Run& run) {
  const auto with_residual = [&]<QuantizedResult y>() {
    if (!place.residual) return run.template operator()<y, QuantizedBehind::none>();
    if (finish.residual == DType::f32) return run.template operator()<y, QuantizedBehind::f32>();
    return run.template operator()<y, QuantizedBehind::bytes>();
  };
  if (finish.y == DType::f32) return with_residual.template operator()<QuantizedResult::f32>();
  if (finish.y == DType::bf16)
    return run.template operator()<QuantizedResult::bf16, QuantizedBehind::none>();
  if (finish.gelu_factor != 0)
    return run.template operator()<QuantizedResult::bytes, QuantizedBehind::gelu>();
  return with_residual.template operator()<QuantizedResult::bytes>();
}

}  // namespace narrowgauge::cpu
