// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <limits>

#include "base/indexed_vector.h"
#include "base/machine/stack_room.h"
#include "kernels/cpu/pool/pool_places.h"

namespace narrowgauge::cpu {
namespace {

using Taps = IndexedVector<std::int64_t, std::int32_t>;

// Reads and writes rows of indices, which are numbers in the window or ONNX's indices in x.
class IndexRows {
 public:
  IndexRows(const PoolGrid& grid, const View& indices) : grid_(grid), view_(indices) {}

  const View5& view() const { return view_; }
  bool holds_taps() const { return view_.dtype != DType::i64; }

  void store(const PoolRows& rows, std::int64_t plane, const Index3& place, const Taps& taps,
             void* data) const {
    if (view_.dtype == DType::u8)
      return store_taps(rows, plane, place, taps, static_cast<std::uint8_t*>(data));
    if (view_.dtype == DType::i32)
      return store_taps(rows, plane, place, taps, static_cast<std::int32_t*>(data));
    auto* flat_indices = static_cast<std::int64_t*>(data);
    each_run(rows, plane, place, [&](std::int64_t to, std::int64_t lane) {
      for (std::int64_t l = 0; l < rows.lanes; ++l)
        flat_indices[to + l] =
            flat(plane * rows.lanes + l, {place[0], place[1], lane / rows.lanes}, taps[lane + l]);
    });
  }

  // Loads taps as they are; for indices in x, the place along the last axis, or -1 for another row.
  void load(const PoolRows& rows, std::int64_t plane, const Index3& place, const Index3& row,
            const void* data, Taps& keys) const {
    if (view_.dtype == DType::u8)
      return load_taps(rows, plane, place, static_cast<const std::uint8_t*>(data), keys);
    if (view_.dtype == DType::i32)
      return load_taps(rows, plane, place, static_cast<const std::int32_t*>(data), keys);
    const auto* flat_indices = static_cast<const std::int64_t*>(data);
    const std::int64_t width = grid_.x().dims[4];
    each_run(rows, plane, place, [&](std::int64_t from, std::int64_t lane) {
      for (std::int64_t l = 0; l < rows.lanes; ++l) {
        const std::int64_t begin = flat_of_source(plane * rows.lanes + l, {row[0], row[1], 0});
        const std::int64_t column = flat_indices[from + l] - begin;
        const bool inside = column >= 0 && column < width;
        keys[lane + l] = static_cast<std::int32_t>(inside ? column : -1);
      }
    });
  }

 private:
  template <class T>
  void store_taps(const PoolRows& rows, std::int64_t plane, const Index3& place, const Taps& taps,
                  T* data) const {
    each_run(rows, plane, place, [&](std::int64_t to, std::int64_t lane) {
      for (std::int64_t l = 0; l < rows.lanes; ++l) data[to + l] = static_cast<T>(taps[lane + l]);
    });
  }
  template <class T>
  void load_taps(const PoolRows& rows, std::int64_t plane, const Index3& place, const T* data,
                 Taps& keys) const {
    each_run(rows, plane, place, [&](std::int64_t from, std::int64_t lane) {
      for (std::int64_t l = 0; l < rows.lanes; ++l) keys[lane + l] = data[from + l];
    });
  }

  // Calls body(element of the view, lane in the row) for the `lanes` dense elements of each place.
  template <class Body>
  void each_run(const PoolRows& rows, std::int64_t plane, const Index3& place,
                const Body& body) const {
    const std::int64_t begin = rows.offset(view_, plane, place[0], place[1]);
    for (std::int64_t k = 0; k < view_.dims[4]; ++k)
      body(begin + k * view_.strides[4], k * rows.lanes);
  }

  std::int64_t flat(std::int64_t channel, const Index3& place, std::int64_t tap) const {
    const Index3& kernel = grid_.kernel();
    Index3 from;
    grid_.source(0, place[0], tap / (kernel[1] * kernel[2]), from[0]);
    grid_.source(1, place[1], tap / kernel[2] % kernel[1], from[1]);
    grid_.source(2, place[2], tap % kernel[2], from[2]);
    return flat_of_source(channel, from);
  }
  std::int64_t flat_of_source(std::int64_t channel, const Index3& from) const {
    const auto& dims = grid_.x().dims;
    return ((channel * dims[2] + from[0]) * dims[3] + from[1]) * dims[4] + from[2];
  }

  const PoolGrid& grid_;
  View5 view_;
};

// Whether v is larger than the best so far, or the first NaN.
template <class Real>
bool replaces(Real v, Real best) {
  return (v > best) | ((v != v) & (best == best));
}

// Takes v where it replaces the best so far, and its place in the window.
template <class Real>
void take_larger(const Real* v, std::int32_t tap, std::int64_t count, Real* best,
                 std::int32_t* taps) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool take = replaces(v[i], best[i]);
    best[i] = take ? v[i] : best[i];
    taps[i] = take ? tap : taps[i];
  }
}

// Takes larger elements where nobody asks for indices.
template <class Real>
void take_larger(const Real* v, std::int64_t count, Real* best) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool take = replaces(v[i], best[i]);
    best[i] = take ? v[i] : best[i];
  }
}

template <class Real>
class MaxPool {
 public:
  MaxPool(const PoolGrid& grid, const std::optional<View>& indices)
      : grid_(grid), rows_(PoolRows::of({&grid_.x(), &grid_.y()})) {
    if (indices) {
      const View5 view(*indices);
      rows_ = PoolRows::of({&grid_.x(), &grid_.y(), &view});
      indices_.emplace(grid_, *indices);
    }
  }
  MaxPool(const MaxPool&) = delete;
  MaxPool& operator=(const MaxPool&) = delete;

  void run(const Call& call) const {
    if (!indices_ && pools_by_places(grid_, rows_, DType::f32)) return by_places<float>(call);
    if (!indices_ && pools_by_places(grid_, rows_, DType::bf16)) return by_places<Bf16>(call);
    std::atomic<std::int64_t> flushed = 0;
    const auto row_size = static_cast<std::size_t>(grid_.y().dims[4] * rows_.lanes);
    const auto make = [&] {
      return Scratch(static_cast<std::size_t>(grid_.x().dims[4] * rows_.lanes), row_size,
                     indices_ ? row_size : 0);
    };
    for_each_row(rows_, grid_.y(), make,
                 [&](Scratch& scratch, std::int64_t plane, std::int64_t i, std::int64_t j) {
                   find(call.inputs[0], plane, i, j, scratch);
                   flushed += store_row(scratch.best.data(), grid_.y(), call.outputs[0],
                                        rows_.offset(grid_.y(), plane, i, j), rows_.lanes);
                   if (indices_)
                     indices_->store(rows_, plane, {i, j, 0}, scratch.taps, call.outputs[1]);
                 });
    add_flushed(call, flushed);
  }

 private:
  struct Scratch {
    Scratch(std::size_t of_x, std::size_t of_y, std::size_t of_indices)
        : x(of_x, &room), best(of_y, &room), taps(of_indices) {}
    StackRoom<8192> room;
    std::pmr::vector<Real> x, best;
    Taps taps;
  };

  template <class Element>
  void by_places(const Call& call) const {
    for_each_place<Element>(grid_, rows_, call,
                            [](const WindowTaps<Element>& window, const Index3&, Element* y) {
                              largest_of(window, y);
                            });
  }

  // Visits taps in the order of x's elements, so that the first of equal values stays.
  void find(const void* x, std::int64_t plane, std::int64_t i, std::int64_t j,
            Scratch& scratch) const {
    const Index3& kernel = grid_.kernel();
    bool first = true;
    for (std::int64_t a = 0; a < kernel[0]; ++a)
      for (std::int64_t b = 0; b < kernel[1]; ++b) {
        std::int64_t from_i, from_j;
        if (!grid_.source(0, i, a, from_i) || !grid_.source(1, j, b, from_j)) continue;
        const std::int64_t tap = (a * kernel[1] + b) * kernel[2];
        if (first) begin(tap, scratch);
        first = false;
        const Real* row = load_row(grid_.x(), x, rows_.offset(grid_.x(), plane, from_i, from_j),
                                   rows_.lanes, scratch.x.data());
        take_row(row, tap, scratch);
      }
  }

  // Starts with -infinity at the window's first element in x: a window of -infinity has its index.
  void begin(std::int64_t tap, Scratch& scratch) const {
    std::fill(scratch.best.begin(), scratch.best.end(), -std::numeric_limits<Real>::infinity());
    if (!indices_) return;
    for (std::int64_t k = 0; k < grid_.y().dims[4]; ++k) {
      std::int64_t c = 0, from = 0;
      while (!grid_.source(2, k, c, from)) ++c;
      std::fill_n(scratch.taps.begin() + k * rows_.lanes, rows_.lanes,
                  static_cast<std::int32_t>(tap + c));
    }
  }

  void take_row(const Real* row, std::int64_t tap, Scratch& scratch) const {
    const std::int64_t lanes = rows_.lanes, step = grid_.last_stride() * lanes;
    for (std::int64_t c = 0; c < grid_.kernel()[2]; ++c) {
      const PoolGrid::Range range = grid_.range(c);
      const Real* from = row + range.first_source * lanes;
      for (std::int64_t k = range.begin; k < range.end; ++k, from += step) {
        Real* const best = scratch.best.data() + k * lanes;
        if (indices_)
          take_larger(from, static_cast<std::int32_t>(tap + c), lanes, best,
                      scratch.taps.data() + k * lanes);
        else
          take_larger(from, lanes, best);
      }
    }
  }

  PoolGrid grid_;
  PoolRows rows_;
  std::optional<IndexRows> indices_;
};

template <class Real>
class MaxPoolGradient {
 public:
  MaxPoolGradient(const PoolGrid& grid, const View& indices)
      : grid_(grid), indices_(grid_, indices) {
    rows_ = PoolRows::of({&grid_.x(), &grid_.y(), &indices_.view()});
  }
  MaxPoolGradient(const MaxPoolGradient&) = delete;
  MaxPoolGradient& operator=(const MaxPoolGradient&) = delete;

  void run(const Call& call) const {
    std::atomic<std::int64_t> flushed = 0;
    const auto row_size = static_cast<std::size_t>(grid_.y().dims[4] * rows_.lanes);
    const auto make = [&] {
      return Scratch{std::vector<Real>(row_size),
                     std::vector<Real>(static_cast<std::size_t>(grid_.x().dims[4] * rows_.lanes)),
                     Taps(row_size)};
    };
    for_each_row(rows_, grid_.x(), make,
                 [&](Scratch& scratch, std::int64_t plane, std::int64_t i, std::int64_t j) {
                   gather(call, plane, i, j, scratch);
                   flushed += store_row(scratch.dx.data(), grid_.x(), call.outputs[0],
                                        rows_.offset(grid_.x(), plane, i, j), rows_.lanes);
                 });
    add_flushed(call, flushed);
  }

 private:
  struct Scratch {
    std::vector<Real> dy, dx;
    Taps keys;
  };

  void gather(const Call& call, std::int64_t plane, std::int64_t i, std::int64_t j,
              Scratch& scratch) const {
    const Index3& kernel = grid_.kernel();
    std::fill(scratch.dx.begin(), scratch.dx.end(), Real{0});
    for (std::int64_t a = 0; a < kernel[0]; ++a)
      for (std::int64_t b = 0; b < kernel[1]; ++b) {
        std::int64_t to_i, to_j;
        if (!grid_.target(0, i, a, to_i) || !grid_.target(1, j, b, to_j)) continue;
        const Real* dy =
            load_row(grid_.y(), call.inputs[0], rows_.offset(grid_.y(), plane, to_i, to_j),
                     rows_.lanes, scratch.dy.data());
        indices_.load(rows_, plane, {to_i, to_j, 0}, {i, j, 0}, call.inputs[1], scratch.keys);
        add_row(dy, (a * kernel[1] + b) * kernel[2], scratch);
      }
  }

  void add_row(const Real* dy, std::int64_t tap, Scratch& scratch) const {
    const std::int64_t lanes = rows_.lanes, stride = grid_.last_stride();
    for (std::int64_t c = 0; c < grid_.kernel()[2]; ++c) {
      const PoolGrid::Range range = grid_.range(c);
      for (std::int64_t k = range.begin; k < range.end; ++k) {
        const std::int64_t column = range.first_source + (k - range.begin) * stride;
        const auto wanted = static_cast<std::int32_t>(indices_.holds_taps() ? tap + c : column);
        const Real* from = dy + k * lanes;
        const std::int32_t* keys = scratch.keys.data() + k * lanes;
        Real* to = scratch.dx.data() + column * lanes;
        for (std::int64_t l = 0; l < lanes; ++l) to[l] += keys[l] == wanted ? from[l] : Real{0};
      }
    }
  }

  PoolGrid grid_;
  IndexRows indices_;
  PoolRows rows_{};
};

void check_indices(const char* who, const View& indices, const View& y, const PoolGrid& grid) {
  const Index3& kernel = grid.kernel();
  require(indices.dims == y.dims, who, ": expected indices of ", y.dims, ", got ", indices.dims);
  require(indices.dtype == DType::u8 || indices.dtype == DType::i32 || indices.dtype == DType::i64,
          who, ": expected u8, i32 or i64 indices, got ", indices.dtype);
  require(indices.dtype != DType::u8 || kernel[0] * kernel[1] * kernel[2] <= 256, who,
          ": u8 indices hold windows of up to 256 elements");
}

}  // namespace

Prepared prepare_max_pool(const View& x, const View& y, const std::optional<View>& indices,
                          const PoolWindow& window) {
  const PoolGrid grid("max pool", x, y, window);
  if (indices) check_indices("max pool", *indices, y, grid);
  require(grid.every_window_sees_x(), "max pool: a window of y ", y.dims, " lies beside x ",
          x.dims);
  return for_arithmetic("max pool", x.dtype, y.dtype, [&]<class Real>(Real) -> Prepared {
    auto pool = std::make_shared<const MaxPool<Real>>(grid, indices);
    return {"own max pool", 0, [pool](const Call& call) { pool->run(call); }};
  });
}

Prepared prepare_max_pool_gradient(const View& dy, const View& indices, const View& dx,
                                   const PoolWindow& window) {
  const PoolGrid grid("max pool gradient", dx, dy, window);
  check_indices("max pool gradient", indices, dy, grid);
  return for_arithmetic("max pool gradient", dx.dtype, dy.dtype, [&]<class Real>(Real) -> Prepared {
    auto pool = std::make_shared<const MaxPoolGradient<Real>>(grid, indices);
    return {"own max pool gradient", 0, [pool](const Call& call) { pool->run(call); }};
  });
}

}  // namespace narrowgauge::cpu
