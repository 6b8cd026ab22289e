// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "base/indexed_vector.h"
#include "kernels/cpu/pool/pool_places.h"

namespace narrowgauge::cpu {
namespace {

// Holds rows as `Real` and sums them as `Sum`.
template <class Real, class Sum>
class AveragePool {
 public:
  AveragePool(const PoolGrid& grid, PoolCount count)
      : grid_(grid), rows_(PoolRows::of({&grid.x(), &grid.y()})) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::int64_t place = 0; place < grid.y().dims[axis + 2]; ++place)
        counts_[axis].add(grid.count(axis, place, count));
  }

  void run(const Call& call) const {
    if (std::same_as<Sum, float> && pools_by_places(grid_, rows_, DType::f32)) {
      for_each_place<float>(grid_, rows_, call,
                            [&](const WindowTaps<float>& window, const Index3& place, float* y) {
                              mean_of(window, static_cast<float>(divisor(place)), y);
                            });
      return;
    }
    std::atomic<std::int64_t> flushed = 0;
    for_each_row(
        rows_, grid_.y(), [&] { return Scratch(grid_, rows_); },
        [&](Scratch& scratch, std::int64_t plane, std::int64_t i, std::int64_t j) {
          sum(call.inputs[0], plane, i, j, scratch);
          divide(scratch.sums.data(), i, j, scratch.y.data());
          flushed += store_row(scratch.y.data(), grid_.y(), call.outputs[0],
                               rows_.offset(grid_.y(), plane, i, j), rows_.lanes);
        });
    add_flushed(call, flushed);
  }

  void run_gradient(const Call& call) const {
    std::atomic<std::int64_t> flushed = 0;
    for_each_row(
        rows_, grid_.x(), [&] { return Scratch(grid_, rows_); },
        [&](Scratch& scratch, std::int64_t plane, std::int64_t i, std::int64_t j) {
          gather(call.inputs[0], plane, i, j, scratch);
          flushed += store_row(rounded(scratch), grid_.x(), call.outputs[0],
                               rows_.offset(grid_.x(), plane, i, j), rows_.lanes);
        });
    add_flushed(call, flushed);
  }

 private:
  struct Scratch {
    IndexedVector<std::int64_t, Real> x, y;
    IndexedVector<std::int64_t, Sum> sums;
    Scratch(const PoolGrid& grid, const PoolRows& rows)
        : x(grid.x().dims[4] * rows.lanes),
          y(grid.y().dims[4] * rows.lanes),
          sums(std::max(x.size(), y.size())) {}
  };

  void sum(const void* x, std::int64_t plane, std::int64_t i, std::int64_t j,
           Scratch& scratch) const {
    std::fill_n(scratch.sums.begin(), scratch.y.size(), Sum{0});
    for (std::int64_t a = 0; a < grid_.kernel()[0]; ++a)
      for (std::int64_t b = 0; b < grid_.kernel()[1]; ++b) {
        std::int64_t from_i, from_j;
        if (!grid_.source(0, i, a, from_i) || !grid_.source(1, j, b, from_j)) continue;
        const Real* row = load_row(grid_.x(), x, rows_.offset(grid_.x(), plane, from_i, from_j),
                                   rows_.lanes, scratch.x.data());
        each_pair([&](std::int64_t in_x, std::int64_t in_y) {
          for (std::int64_t l = 0; l < rows_.lanes; ++l)
            scratch.sums[in_y + l] += static_cast<Sum>(row[in_x + l]);
        });
      }
  }

  void gather(const void* dy, std::int64_t plane, std::int64_t i, std::int64_t j,
              Scratch& scratch) const {
    std::fill_n(scratch.sums.begin(), scratch.x.size(), Sum{0});
    for (std::int64_t a = 0; a < grid_.kernel()[0]; ++a)
      for (std::int64_t b = 0; b < grid_.kernel()[1]; ++b) {
        std::int64_t to_i, to_j;
        if (!grid_.target(0, i, a, to_i) || !grid_.target(1, j, b, to_j)) continue;
        const Real* row = load_row(grid_.y(), dy, rows_.offset(grid_.y(), plane, to_i, to_j),
                                   rows_.lanes, scratch.y.data());
        divide(row, to_i, to_j, scratch.y.data());
        each_pair([&](std::int64_t in_x, std::int64_t in_y) {
          for (std::int64_t l = 0; l < rows_.lanes; ++l)
            scratch.sums[in_x + l] += static_cast<Sum>(scratch.y[in_y + l]);
        });
      }
  }

  // Calls body(element of x's row, element of y's row) for every tap along the last axis.
  template <class Body>
  void each_pair(const Body& body) const {
    for (std::int64_t c = 0; c < grid_.kernel()[2]; ++c) {
      const PoolGrid::Range range = grid_.range(c);
      std::int64_t from = range.first_source * rows_.lanes;
      for (std::int64_t k = range.begin; k < range.end; ++k) {
        body(from, k * rows_.lanes);
        from += grid_.last_stride() * rows_.lanes;
      }
    }
  }

  std::int64_t divisor(const Index3& place) const {
    return std::max<std::int64_t>(
        1, counts_[0][place[0]] * counts_[1][place[1]] * counts_[2][place[2]]);
  }

  // A window that sees nothing has the sum 0, which stays.
  template <class Number>
  void divide(const Number* in, std::int64_t i, std::int64_t j, Real* out) const {
    for (std::int64_t k = 0; k < grid_.y().dims[4]; ++k) {
      const auto count = static_cast<Number>(divisor({i, j, k}));
      for (std::int64_t l = k * rows_.lanes; l < (k + 1) * rows_.lanes; ++l)
        out[l] = static_cast<Real>(in[l] / count);
    }
  }

  // The sums of a row of x, rounded to `Real`.
  static const Real* rounded(Scratch& scratch) {
    if constexpr (std::same_as<Real, Sum>) return scratch.sums.data();
    std::transform(scratch.sums.begin(), scratch.sums.begin() + std::ssize(scratch.x),
                   scratch.x.begin(), [](Sum sum) { return static_cast<Real>(sum); });
    return scratch.x.data();
  }

  PoolGrid grid_;
  PoolRows rows_;
  std::array<IndexedVector<std::int64_t, std::int64_t>, 3>
      counts_;  // elements of the windows along each axis
};

// Larger windows are summed in f64: an f32 sum of so many numbers loses its last digits.
constexpr std::int64_t most_f32_terms = 64;

// Calls use(pool) with the pool in the arithmetic that fits; `summed` is the view that is summed.
template <class Use>
Prepared with_pool(const char* who, const PoolGrid& grid, const View5& summed, PoolCount count,
                   const Use& use) {
  std::int64_t terms = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    terms *= std::min(grid.kernel()[axis], summed.dims[axis + 2]);
  return for_arithmetic(who, grid.x().dtype, grid.y().dtype, [&]<class Real>(Real) -> Prepared {
    if (terms > most_f32_terms)
      return use(std::make_shared<const AveragePool<Real, double>>(grid, count));
    return use(std::make_shared<const AveragePool<Real, Real>>(grid, count));
  });
}

}  // namespace

Prepared prepare_average_pool(const View& x, const View& y, const PoolWindow& window,
                              PoolCount count) {
  const PoolGrid grid("average pool", x, y, window);
  return with_pool("average pool", grid, grid.x(), count, [](auto pool) -> Prepared {
    return {"own average pool", 0, [pool](const Call& call) { pool->run(call); }};
  });
}

Prepared prepare_average_pool_gradient(const View& dy, const View& dx, const PoolWindow& window,
                                       PoolCount count) {
  const PoolGrid grid("average pool gradient", dx, dy, window);
  return with_pool("average pool gradient", grid, grid.y(), count, [](auto pool) -> Prepared {
    return {"own average pool gradient", 0, [pool](const Call& call) { pool->run_gradient(call); }};
  });
}

}  // namespace narrowgauge::cpu
