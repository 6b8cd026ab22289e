// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/threads/parallel.h"
#include "kernels/cpu/lanes/row_math.h"

namespace narrowgauge::cpu {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// take() adds an element to an accumulator, join() adds two accumulators.
struct Sum {
  static constexpr double start = 0;
  static double take(double a, float x) { return a + double(x); }
  static double join(double a, double b) { return a + b; }
};
struct AbsoluteSum : Sum {
  static double take(double a, float x) { return a + double(std::fabs(x)); }
};
struct SquareSum : Sum {
  static double take(double a, float x) { return std::fma(double(x), double(x), a); }
};
struct ExponentialSum : Sum {};  // of exp(x - shift); has loops of its own
struct Product {
  static constexpr double start = 1;
  static double take(double a, float x) { return a * double(x); }
  static double join(double a, double b) { return a * b; }
};
struct Maximum {
  static constexpr double start = -infinity;
  static double join(double a, double b) { return (b > a) | (b != b) ? b : a; }
  static double take(double a, float x) { return join(a, double(x)); }
};
struct Minimum {
  static constexpr double start = infinity;
  static double join(double a, double b) { return (b < a) | (b != b) ? b : a; }
  static double take(double a, float x) { return join(a, double(x)); }
};

using Columns = std::array<double, strip_length>;
using Shifts = std::array<float, strip_length>;

constexpr std::size_t lanes = row_lanes;

template <class Op>
void take_row(const float* x, std::int64_t count, const float* shift, double* column) {
  if constexpr (std::is_same_v<Op, ExponentialSum>) {
    column[0] += double(row_math().exponential_sum(x, *shift, count));
    return;
  }
  std::array<double, lanes> sum;
  std::copy_n(column, lanes, sum.begin());
  std::int64_t i = 0;
  for (; i + std::int64_t(lanes) <= count; i += std::int64_t(lanes))
    for (std::size_t l = 0; l < lanes; ++l) sum[l] = Op::take(sum[l], x[i + std::int64_t(l)]);
  for (std::size_t l = 0; i < count; ++i, ++l) sum[l] = Op::take(sum[l], x[i]);
  std::copy_n(sum.begin(), lanes, column);
}

template <class Op>
void take_columns(const float* x, std::int64_t count, const float* shift, double* column) {
  if constexpr (std::is_same_v<Op, ExponentialSum>)
    return row_math().add_exponentials(x, shift, count, column);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < count; ++j) column[j] = Op::take(column[j], x[j]);
}

struct Job {
  const ReduceGrid& grid;
  ConstArray x;
  const double* shifts;  // per output, or null
};

template <class Op>
void reduce_chunk(const Job& job, const ReduceGrid::Tile& tile, std::int64_t chunk, double* out) {
  const ReduceGrid& grid = job.grid;
  alignas(64) Columns column;
  alignas(64) Shifts shift, buffer;
  const std::int64_t columns =
      grid.is_row_wise() ? grid.columns() : std::min(grid.columns(), tile.run);
  std::fill_n(column.data(), columns, Op::start);
  for (std::int64_t j = 0; job.shifts && j < columns; ++j)
    shift[std::size_t(j)] = float(job.shifts[tile.index + grid.output_of(j, tile)]);
  const std::int64_t begin = chunk * grid.rows_per_chunk();
  const std::int64_t end = std::min(begin + grid.rows_per_chunk(), grid.rows());
  for (std::int64_t row = begin; row < end; ++row) {
    const auto [offset, count] = grid.strip(tile, row);
    const float* x = load_strip(job.x, offset, count, buffer.data());
    if (grid.is_row_wise())
      take_row<Op>(x, count, shift.data(), column.data());
    else
      take_columns<Op>(x, count, shift.data(), column.data());
  }
  if (grid.is_row_wise()) {
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
      for (std::size_t l = 0; l < half; ++l) column[l] = Op::join(column[l], column[l + half]);
    *out = column[0];
    return;
  }
  std::fill_n(out, tile.outputs, Op::start);
  for (std::int64_t j = 0; j < columns; ++j) {
    double& output = out[tile.outputs == 1 ? 0 : grid.output_of(j, tile)];
    output = Op::join(output, column[std::size_t(j)]);
  }
}

// Computes results[i] for every output. `partials` has room for the outputs of all chunks if a tile
// has several.
template <class Op>
void reduce_all(const Job& job, double* results, double* partials) {
  const ReduceGrid& grid = job.grid;
  const std::int64_t chunks = grid.chunks(), stride = grid.most_outputs();
  parallel_for(grid.tiles() * chunks, grid.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) {
      const ReduceGrid::Tile tile = grid.tile(number / chunks);
      double* out = chunks == 1 ? results + tile.index : partials + number * stride;
      reduce_chunk<Op>(job, tile, number % chunks, out);
    }
  });
  if (chunks == 1) return;
  for (std::int64_t number = 0; number < grid.tiles(); ++number) {
    const ReduceGrid::Tile tile = grid.tile(number);
    const double* part = partials + number * chunks * stride;
    std::copy_n(part, tile.outputs, results + tile.index);
    for (std::int64_t chunk = 1; chunk < chunks; ++chunk)
      for (std::int64_t i = 0; i < tile.outputs; ++i)
        results[tile.index + i] = Op::join(results[tile.index + i], part[chunk * stride + i]);
  }
}

void reduce_exponentials(Job job, double* results, double* partials) {
  const std::int64_t outputs = job.grid.outputs();
  double* largest = results + outputs;
  reduce_all<Maximum>(job, largest, partials);
  std::replace_if(
      largest, largest + outputs, [](double value) { return std::isinf(value); }, 0.0);
  job.shifts = largest;
  reduce_all<ExponentialSum>(job, results, partials);
  for (std::int64_t i = 0; i < outputs; ++i) results[i] = largest[i] + std::log(results[i]);
}

void finish(Reduction reduction, std::int64_t per_output, double* value, std::int64_t count) {
  const auto apply = [&](auto function) { std::transform(value, value + count, value, function); };
  if (reduction == Reduction::mean)
    apply([&](double sum) { return sum / double(per_output); });
  else if (reduction == Reduction::l2)
    apply([](double sum) { return std::sqrt(sum); });
  else if (reduction == Reduction::log_sum)
    apply([](double sum) { return std::log(sum); });
}

void write(const ReduceGrid& grid, const double* results, const Array& y) {
  if (grid.y_is_in_order()) {
    parallel_for(grid.outputs(), 16 * strip_length, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) Shifts strip;
      for (std::int64_t at = begin; at < end; at += strip_length) {
        const std::int64_t count = std::min(strip_length, end - at);
        std::transform(results + at, results + at + count, strip.begin(),
                       [](double value) { return float(value); });
        store_strip(y, at, count, strip.data());
      }
    });
    return;
  }
  for (std::int64_t number = 0; number < grid.tiles(); ++number) {
    const ReduceGrid::Tile tile = grid.tile(number);
    for (std::int64_t i = 0; i < tile.outputs; ++i) {
      const auto value = float(results[tile.index + i]);
      store_strip(y, tile.y_offset + i * grid.y_stride(), 1, &value);
    }
  }
}

}  // namespace

Reduce::Reduce(Reduction reduction, std::vector<ReduceAxis> axes)
    : reduction_(reduction), grid_(std::move(axes)) {}

std::int64_t Reduce::workspace() const {
  const std::int64_t partials =
      grid_.chunks() == 1 ? 0 : grid_.tiles() * grid_.chunks() * grid_.most_outputs();
  const std::int64_t results = reduction_ == Reduction::log_sum_exp ? 2 : 1;
  return (partials + results * grid_.outputs()) * std::int64_t(sizeof(double));
}

void Reduce::run(ConstArray x, const Array& y, void* workspace) const {
  if (grid_.outputs() == 0) return;
  auto* results = static_cast<double*>(workspace);
  double* partials = results + (reduction_ == Reduction::log_sum_exp ? 2 : 1) * grid_.outputs();
  const Job job{grid_, x, nullptr};
  switch (reduction_) {
    case Reduction::maximum:
      reduce_all<Maximum>(job, results, partials);
      break;
    case Reduction::minimum:
      reduce_all<Minimum>(job, results, partials);
      break;
    case Reduction::product:
      reduce_all<Product>(job, results, partials);
      break;
    case Reduction::l1:
      reduce_all<AbsoluteSum>(job, results, partials);
      break;
    case Reduction::l2:
    case Reduction::sum_square:
      reduce_all<SquareSum>(job, results, partials);
      break;
    case Reduction::log_sum_exp:
      reduce_exponentials(job, results, partials);
      break;
    default:
      reduce_all<Sum>(job, results, partials);
  }
  finish(reduction_, grid_.per_output(), results, grid_.outputs());
  write(grid_, results, y);
}

}  // namespace narrowgauge::cpu
