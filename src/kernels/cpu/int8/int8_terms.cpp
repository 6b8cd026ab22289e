// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8/int8_terms.h"

#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace {

double term_number(const Call& call, const Int8Numbers& numbers, std::int64_t i) {
  return load_element(numbers.dtype, call.inputs[numbers.input],
                      numbers.count > 1 ? i % numbers.count : 0);
}

std::int32_t whole(const Call& call, const Int8Numbers& numbers, std::int64_t i) {
  return numbers.count == 0 ? 0 : static_cast<std::int32_t>(term_number(call, numbers, i));
}

float scale(const Call& call, const Int8Numbers& numbers, std::int64_t i) {
  return numbers.count == 0 ? 1.0F : static_cast<float>(term_number(call, numbers, i));
}

// Calls use(place in padded memory, number of the row) for the rows of all groups; padding repeats
// the first row.
template <class Use>
void each_row(const Int8Sizes& sizes, const Use& use) {
  for (std::int64_t group = 0; group < sizes.groups; ++group)
    for (std::int64_t row = 0; row < sizes.padded(); ++row)
      use(group * sizes.padded() + row, group * sizes.in_group + (row < sizes.in_group ? row : 0));
}

bool all_equal(const std::int32_t* values, std::int64_t count) {
  return std::all_of(values, values + count, [&](std::int32_t value) { return value == *values; });
}

bool any(const std::int32_t* values, std::int64_t count) {
  return std::any_of(values, values + count, [](std::int32_t value) { return value != 0; });
}

}  // namespace

Int8Scales int8_scales(const std::array<float, 3>& scales, bool one_a, bool one_b) {
  const auto [a, b, y] = scales;
  if (one_a) return {1.0F, a * b / y};
  if (one_b) return {a * b / y, 1.0F};
  return {a / y, b};
}

void Int8Terms::row_terms(std::int64_t first, std::int64_t count, const std::int32_t* sums,
                          std::int32_t* terms) const {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t term = as_modular(bias[first + i]);
    if (needs_row_sums && one_column_zero)
      term -= as_modular(column_zeros[0]) * as_modular(sums[i]);
    terms[i] = from_modular(term);
  }
}

void Int8Terms::column_terms(std::int64_t first, std::int64_t count, std::int32_t* sums,
                             std::int32_t* terms) const {
  const auto values = static_cast<std::uint32_t>(depth);
  for (std::int64_t i = 0; i < count; ++i) {
    terms[i] = 0;
    if (!needs_column_sums) continue;
    sums[i] = from_modular(as_modular(sums[i]) - values * as_modular(column_zeros[first + i]));
    if (one_row_zero) terms[i] = from_modular(0 - as_modular(row_zeros[0]) * as_modular(sums[i]));
  }
}

Int8TermsPlan::Int8TermsPlan(const Int8Operands& operands, const Int8Quantities& quantities,
                             const Int8Sizes& sizes)
    : quantities_(quantities),
      sizes_(sizes),
      a_signed_(operands.a.dtype == DType::i8),
      b_signed_(operands.b.dtype == DType::i8),
      scaled_(operands.y.dtype != DType::i32),
      offsets_(int8_kernels().offsets) {}

std::int64_t Int8TermsPlan::bytes() const {
  return 4 * (3 * sizes_.groups * sizes_.padded() + 2 * sizes_.padded_columns());
}

Int8Terms Int8TermsPlan::load(const Call& call, std::byte* memory) const {
  const std::int64_t rows = sizes_.groups * sizes_.padded(), columns = sizes_.padded_columns();
  auto* const whole_numbers = reinterpret_cast<std::int32_t*>(memory);
  auto* const scales = reinterpret_cast<float*>(whole_numbers + 2 * rows + columns);
  Int8Terms terms{};
  terms.row_zeros = whole_numbers;
  terms.bias = whole_numbers + rows;
  terms.column_zeros = whole_numbers + 2 * rows;
  terms.y_signed = quantities_.y_signed;
  terms.depth = sizes_.depth;
  const std::int32_t up = a_flip() ? 128 : 0, down = b_flip() ? 128 : 0;
  each_row(sizes_, [&](std::int64_t at, std::int64_t row) {
    terms.row_zeros[at] = whole(call, quantities_.a_zero, row) + up;
    terms.bias[at] = whole(call, quantities_.bias, row);
  });
  for (std::int64_t c = 0; c < columns; ++c)
    terms.column_zeros[c] = whole(call, quantities_.b_zero, c < sizes_.columns ? c : 0) - down;
  terms.one_row_zero = all_equal(terms.row_zeros, rows);
  terms.one_column_zero = all_equal(terms.column_zeros, columns);
  terms.needs_row_sums = any(terms.column_zeros, columns);
  terms.needs_column_sums = any(terms.row_zeros, rows);
  if (!scaled_) return terms;
  terms.row_scales = scales;
  terms.column_scales = scales + rows;
  load_scales(call, terms);
  return terms;
}

void Int8TermsPlan::load_scales(const Call& call, Int8Terms& terms) const {
  const Int8Quantities& q = quantities_;
  const bool one_a = q.a_scale.count <= 1, one_b = q.b_scale.count <= 1;
  const auto scales_at = [&](std::int64_t row, std::int64_t column) {
    return int8_scales(
        {scale(call, q.a_scale, row), scale(call, q.b_scale, column), scale(call, q.y_scale, 0)},
        one_a, one_b);
  };
  each_row(sizes_, [&](std::int64_t at, std::int64_t row) {
    terms.row_scales[at] = scales_at(row, 0).row;
  });
  for (std::int64_t c = 0; c < sizes_.padded_columns(); ++c)
    terms.column_scales[c] = scales_at(0, c < sizes_.columns ? c : 0).column;
  terms.y_zero = whole(call, q.y_zero, 0);
}

Int8Finish int8_finish(const Int8Terms& terms, const Int8Place& place) {
  Int8Finish finish{};
  finish.row_terms = place.row_terms;
  finish.column_terms = place.column_terms;
  if (!terms.one_row_zero) {
    finish.row_factors[0] = terms.row_zeros + place.row;
    finish.column_factors[0] = place.column_sums;
  }
  if (!terms.one_column_zero) {
    finish.row_factors[1] = place.row_sums;
    finish.column_factors[1] = terms.column_zeros + place.column;
  }
  if (!terms.row_scales) return finish;
  finish.row_scales = terms.row_scales + place.row;
  finish.column_scales = terms.column_scales + place.column;
  finish.zero = terms.y_zero;
  finish.is_signed = terms.y_signed;
  return finish;
}

void int8_multiply_runs(const Int8Kernels& kernels, Int8Strip strip, const std::byte* end) {
  const std::int64_t steps = strip.steps;
  const std::int64_t run = ceil_divide(steps, ceil_divide(steps, int8_run));
  const Int8Finish* const last = strip.last;
  for (std::int64_t s = 0; s < steps; s += run) {
    strip.steps = std::min(run, steps - s);
    strip.last = s + run < steps ? nullptr : last;
    const std::int64_t bytes = strip.steps * int8_step_bytes;
    strip.next = strip.b + 2 * bytes <= end ? strip.b + bytes : nullptr;
    kernels.multiply(strip);
    strip.first = false;
    strip.a += bytes;
    strip.b += bytes;
  }
}

}  // namespace narrowgauge::cpu
