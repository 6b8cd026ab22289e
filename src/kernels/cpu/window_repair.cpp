// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/window_repair.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace {

// Counts of one spatial axis.
struct Axis {
  std::int64_t x, y, taps, stride, dilation, pad;

  Axis(const WindowRepair& r, std::size_t i)
      : x(r.x.dims[i + 2]),
        y(r.y.dims[i + 2]),
        taps(r.w.dims[i + 2]),
        stride(r.window.strides[i]),
        dilation(r.window.dilations[i]),
        pad(r.window.pads_begin[i]) {}

  // The place of x that a tap meets from one of y, and the other way around; -1 where none is.
  std::int64_t x_of(std::int64_t place, std::int64_t tap) const {
    const std::int64_t at = place * stride + tap * dilation - pad;
    return at < x ? std::max<std::int64_t>(at, -1) : -1;
  }
  std::int64_t y_of(std::int64_t place, std::int64_t tap) const {
    const std::int64_t at = place + pad - tap * dilation;
    return at >= 0 && at % stride == 0 && at / stride < y ? at / stride : -1;
  }
};

using Flags = std::vector<std::uint8_t>;

class Repair {
 public:
  Repair(const WindowRepair& r, const Call& call)
      : r_(r), call_(call), rows_(r, 0), columns_(r, 1) {}

  void images() const {
    if (!any_image_lost()) return;
    const Flags weights = bad_weights(), pixels = bad_pixels();
    parallel_for(result().dims[0], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n)
        for (std::int64_t c = 0; c < result().dims[1]; ++c)
          for (std::int64_t y = 0; y < result().dims[2]; ++y)
            for (std::int64_t x = 0; x < result().dims[3]; ++x) {
              const std::int64_t at = result().at(n, c, y, x);
              if (is_finite(result().dtype, call_.outputs[0], at)) continue;
              if (!is_reached(weights, pixels, {n, c, y, x}))
                store_element(result().dtype, call_.outputs[0], at, sum({n, c, y, x}));
            }
    });
  }

  void weights() const {
    if (!any_weight_lost()) return;
    const Flags x = bad_channels(true), y = bad_channels(false);
    const std::int64_t inputs = r_.w.dims[1];
    parallel_for(r_.w.dims[0] * inputs, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t tap = 0; tap < taps(); ++tap) {
          const std::int64_t m = i / inputs, c = i % inputs, at = weight_at(m, c, tap);
          if (is_finite(r_.w.dtype, call_.outputs[0], at)) continue;
          if (!x[index(c * taps() + tap)] && !y[index(m * taps() + tap)])
            store_element(r_.w.dtype, call_.outputs[0], at, weight_sum(m, c, tap));
        }
    });
  }

 private:
  struct Pixel {
    std::int64_t n, c, y, x;
  };

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static bool is_finite(DType dtype, const void* data, std::int64_t at) {
    return std::isfinite(load_element(dtype, data, at));
  }
  bool forward() const { return r_.pass == ConvolutionPass::forward; }
  const PlacedImages& result() const { return forward() ? r_.y : r_.x; }
  const PlacedImages& source() const { return forward() ? r_.x : r_.y; }
  const void* source_data() const { return call_.inputs[forward() ? 0 : 1]; }
  const void* weight_data() const { return call_.inputs[forward() ? 1 : 0]; }
  std::int64_t taps() const { return rows_.taps * columns_.taps; }
  std::int64_t weight_at(std::int64_t m, std::int64_t c, std::int64_t tap) const {
    const Dims& s = r_.w.strides;
    return m * s[0] + c * s[1] + tap / columns_.taps * s[2] + tap % columns_.taps * s[3];
  }
  // Between a channel of the result and one of the source.
  std::int64_t weight_between(std::int64_t to, std::int64_t from, std::int64_t tap) const {
    return forward() ? weight_at(to, from, tap) : weight_at(from, to, tap);
  }

  // A weight that is not finite makes all pixels of its channel so, or all that are as far from the
  // ones that a stride steps on.
  bool any_image_lost() const {
    const PlacedImages& y = result();
    if (r_.relu) {  // which hides infinities
      const Flags flags = bad_weights();
      return std::find(flags.begin(), flags.end(), 1) != flags.end();
    }
    for (std::int64_t c = 0; c < y.dims[1] && y.dims[0] > 0; ++c)
      for (std::int64_t i = 0; i < std::min(rows_.stride, y.dims[2]); ++i)
        for (std::int64_t j = 0; j < std::min(columns_.stride, y.dims[3]); ++j)
          if (!is_finite(y.dtype, call_.outputs[0], y.at(0, c, i, j))) return true;
    return false;
  }

  // A pixel makes all weights of its channel so, of every tap or of those that a stride takes to
  // it.
  bool any_weight_lost() const {
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      for (std::int64_t m = 0; m < r_.w.dims[0]; ++m)
        if (!is_finite(r_.w.dtype, call_.outputs[0], weight_at(m, 0, tap))) return true;
      for (std::int64_t c = 0; c < r_.w.dims[1]; ++c)
        if (!is_finite(r_.w.dtype, call_.outputs[0], weight_at(0, c, tap))) return true;
    }
    return false;
  }

  // body(row of the source, its column, tap) for all that a pixel of the result is summed from.
  template <class Body>
  void each_tap(const Pixel& p, const Body& body) const {
    for (std::int64_t ky = 0; ky < rows_.taps; ++ky) {
      const std::int64_t y = forward() ? rows_.x_of(p.y, ky) : rows_.y_of(p.y, ky);
      for (std::int64_t kx = 0; y >= 0 && kx < columns_.taps; ++kx) {
        const std::int64_t x = forward() ? columns_.x_of(p.x, kx) : columns_.y_of(p.x, kx);
        if (x >= 0) body(y, x, ky * columns_.taps + kx);
      }
    }
  }

  // [channel of the result][tap]
  Flags bad_weights() const {
    Flags flags(index(result().dims[1] * taps()));
    for (std::int64_t to = 0; to < result().dims[1]; ++to)
      for (std::int64_t from = 0; from < source().dims[1]; ++from)
        for (std::int64_t tap = 0; tap < taps(); ++tap)
          if (!is_finite(r_.w.dtype, weight_data(), weight_between(to, from, tap)))
            flags[index(to * taps() + tap)] = 1;
    return flags;
  }

  // Of the source, [image][y][x].
  Flags bad_pixels() const {
    const Dims& dims = source().dims;
    Flags flags(index(dims[0] * dims[2] * dims[3]));
    parallel_for(dims[0] * dims[2], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t x = 0; x < dims[3]; ++x)
          for (std::int64_t c = 0; c < dims[1]; ++c)
            if (!is_finite(source().dtype, source_data(),
                           source().at(row / dims[2], c, row % dims[2], x)))
              flags[index(row * dims[3] + x)] = 1;
    });
    return flags;
  }

  bool is_reached(const Flags& weights, const Flags& pixels, const Pixel& p) const {
    const Dims& dims = source().dims;
    if (r_.bias && !is_finite(r_.bias->dtype, call_.inputs[2], p.c * r_.bias->strides[0]))
      return true;
    bool reached = false;
    each_tap(p, [&](std::int64_t y, std::int64_t x, std::int64_t tap) {
      reached = reached || weights[index(p.c * taps() + tap)] ||
                pixels[index((p.n * dims[2] + y) * dims[3] + x)];
    });
    return reached;
  }

  double sum(const Pixel& p) const {
    double sum = 0;
    if (r_.bias) sum = load_element(r_.bias->dtype, call_.inputs[2], p.c * r_.bias->strides[0]);
    each_tap(p, [&](std::int64_t y, std::int64_t x, std::int64_t tap) {
      for (std::int64_t c = 0; c < source().dims[1]; ++c)
        sum += load_element(source().dtype, source_data(), source().at(p.n, c, y, x)) *
               load_element(r_.w.dtype, weight_data(), weight_between(p.c, c, tap));
    });
    return r_.relu ? std::max(sum, 0.0) : sum;
  }

  // Of x or of dy, [channel][tap]: whether a weight of that tap sees a value that is not finite.
  Flags bad_channels(bool of_x) const {
    const PlacedImages& images = of_x ? r_.x : r_.y;
    Flags flags(index(images.dims[1] * taps()));
    parallel_for(images.dims[1], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c)
        for (std::int64_t n = 0; n < images.dims[0]; ++n)
          for (std::int64_t y = 0; y < images.dims[2]; ++y)
            for (std::int64_t x = 0; x < images.dims[3]; ++x)
              if (!is_finite(images.dtype, call_.inputs[of_x ? 0 : 1], images.at(n, c, y, x)))
                flag_taps(of_x, y, x, &flags[index(c * taps())]);
    });
    return flags;
  }

  void flag_taps(bool of_x, std::int64_t y, std::int64_t x, std::uint8_t* flags) const {
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      const std::int64_t ky = tap / columns_.taps, kx = tap % columns_.taps;
      const bool meets = of_x ? rows_.y_of(y, ky) >= 0 && columns_.y_of(x, kx) >= 0
                              : rows_.x_of(y, ky) >= 0 && columns_.x_of(x, kx) >= 0;
      if (meets) flags[tap] = 1;
    }
  }

  double weight_sum(std::int64_t m, std::int64_t c, std::int64_t tap) const {
    double sum = 0;
    for (std::int64_t n = 0; n < r_.y.dims[0]; ++n)
      for (std::int64_t y = 0; y < rows_.y; ++y) {
        const std::int64_t from = rows_.x_of(y, tap / columns_.taps);
        for (std::int64_t x = 0; from >= 0 && x < columns_.y; ++x) {
          const std::int64_t column = columns_.x_of(x, tap % columns_.taps);
          if (column >= 0)
            sum += load_element(r_.x.dtype, call_.inputs[0], r_.x.at(n, c, from, column)) *
                   load_element(r_.y.dtype, call_.inputs[1], r_.y.at(n, m, y, x));
        }
      }
    return sum;
  }

  const WindowRepair& r_;
  const Call& call_;
  Axis rows_, columns_;
};

}  // namespace

std::int64_t PlacedImages::at(std::int64_t n, std::int64_t c, std::int64_t y,
                              std::int64_t x) const {
  if (!strides.empty()) return n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3];
  const std::int64_t pixel = (n / 32 * dims[2] + y) * dims[3] + x;
  return (pixel * (dims[1] / 32) + c / 32) * 1024 + n % 32 * 32 + c % 32;
}

void WindowRepair::run(const Call& call) const {
  const Repair repair(*this, call);
  pass == ConvolutionPass::weight_gradient ? repair.weights() : repair.images();
}

Prepared repaired(Prepared prepared, const WindowRepair& repair) {
  prepared.run = [run = std::move(prepared.run), repair](const Call& call) {
    run(call);
    repair.run(call);
  };
  return prepared;
}

Prepared repaired(Prepared prepared, ConvolutionPass pass, const ConvolutionViews& views,
                  const ConvolutionWindow& window) {
  const auto placed = [](const View& view) {
    return PlacedImages{view.dtype, view.dims, view.strides};
  };
  return repaired(std::move(prepared),
                  {pass, placed(views.x), views.w, placed(views.y), views.bias, window});
}

}  // namespace narrowgauge::cpu
