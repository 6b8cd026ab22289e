// SPDX-License-Identifier: Apache-2.0
#include "ops/image/grid_sample.h"

#include <cmath>
#include <functional>

#include "base/parallel.h"
#include "ops/image/grid_taps.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The shape of y; x and grid are inputs first and first + 1.
template <class Op>
Shape sampled_shape(const Op& op, const Inference& in, int first) {
  constexpr std::string_view name = Op::info.name;
  require(op.mode == "nearest" || op.mode == "linear" || op.mode == "cubic", name,
          ": mode must be nearest, linear or cubic, got '", op.mode, "'");
  require(
      op.padding_mode == "zeros" || op.padding_mode == "border" || op.padding_mode == "reflection",
      name, ": padding_mode must be zeros, border or reflection, got '", op.padding_mode, "'");
  const Shape &x = in.shape(first), &grid = in.shape(first + 1);
  require(x.size() >= 3 && grid.size() == x.size() && grid[0] == x[0] &&
              grid.back() == Dim(static_cast<std::int64_t>(x.size() - 2)),
          name,
          ": expected x [N, C, in...] and a grid [N, out..., r] with r the spatial axes of x, "
          "got ",
          in.type(first), " and ", in.type(first + 1));
  for (std::size_t i = 2; i < x.size(); ++i)
    require(!(x[i] == Dim(0)), name, ": x ", x, " has no elements to sample");
  Shape y{x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  return y;
}

template <class Op>
GridAxis axis_of(const Op& op) {
  return {1,
          op.mode == "nearest"  ? GridMode::nearest
          : op.mode == "linear" ? GridMode::linear
                                : GridMode::cubic,
          op.padding_mode == "zeros"    ? GridPadding::zeros
          : op.padding_mode == "border" ? GridPadding::border
                                        : GridPadding::reflection,
          op.align_corners != 0};
}

// The elements of one channel that a place reads.
class PlaceTaps {
 public:
  PlaceTaps(GridAxis axis, const ReferenceView& x, const ReferenceView& grid, std::int64_t place)
      : axes_(x.dims().size() - 2) {
    for (std::size_t i = 0; i < axes_; ++i) {
      axis.size = x.dims()[i + 2];
      sizes_.push_back(axis.size);
      const auto at =
          place * static_cast<std::int64_t>(axes_) + static_cast<std::int64_t>(axes_ - 1 - i);
      taps_.push_back(grid_taps(axis, grid[at]));
    }
  }
  // Calls visit(element, weight, slopes of the weight by the coordinates of the axes of x).
  template <class Visit>
  void each(const Visit& visit) const {
    std::vector<double> slopes(axes_);
    std::int64_t count = 1;
    for (const GridTaps& taps : taps_) count *= taps.count;
    for (std::int64_t combination = 0; combination < count; ++combination) {
      std::int64_t rest = combination, element = 0;
      double weight = 1;
      std::fill(slopes.begin(), slopes.end(), 1.0);
      for (std::size_t i = 0; i < axes_ && element >= 0; ++i) {
        const auto tap = static_cast<std::size_t>(rest % taps_[i].count);
        rest /= taps_[i].count;
        const std::int64_t at = taps_[i].element[tap];
        element = at < 0 ? -1 : element * sizes_[i] + at;
        weight *= taps_[i].weight[tap];
        for (std::size_t k = 0; k < axes_; ++k)
          slopes[k] *= k == i ? taps_[i].slope[tap] : taps_[i].weight[tap];
      }
      if (element >= 0) visit(element, weight, slopes);
    }
  }

 private:
  std::size_t axes_;
  Dims sizes_;
  std::vector<GridTaps> taps_;
};

// The row-major sizes of x and y.
struct Sizes {
  std::int64_t batch, channels, in, out;
  Sizes(const Dims& x, const Dims& y)
      : batch(x[0]),
        channels(x[1]),
        in(element_count(std::span(x).subspan(2))),
        out(element_count(std::span(y).subspan(2))) {}
};

Offer grid_sample_reference(const Request& request) {
  const GridAxis axis = axis_of(request.as<GridSample>());
  return reference_offer(request, [axis](const auto& in, const auto& out, const KernelCall&) {
    const Sizes s(in[0].dims(), out[0].dims());
    const bool whole = is_integer(out[0].dtype());
    parallel_for(s.batch * s.out, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t place = begin; place < end; ++place) {
        const PlaceTaps taps(axis, in[0], in[1], place);
        for (std::int64_t c = 0; c < s.channels; ++c) {
          const std::int64_t plane = place / s.out * s.channels + c;
          double sum = 0;
          taps.each([&](std::int64_t element, double weight, const auto&) {
            sum += weight * in[0][plane * s.in + element];
          });
          out[0].set(plane * s.out + place % s.out, whole ? std::trunc(sum) : sum);
        }
      }
    });
  });
}

Offer grid_sample_gradient_reference(const Request& request) {
  const GridAxis axis = axis_of(request.as<GridSampleGradient>());
  return reference_offer(request, [axis](const auto& in, const auto& out, const KernelCall&) {
    const Sizes s(in[1].dims(), in[0].dims());
    const std::size_t axes = in[1].dims().size() - 2;
    std::vector<double> dx(static_cast<std::size_t>(in[1].size()));
    for (std::int64_t place = 0; place < s.batch * s.out; ++place) {
      const PlaceTaps taps(axis, in[1], in[2], place);
      std::vector<double> dplace(axes);
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const std::int64_t plane = place / s.out * s.channels + c;
        const double dy = in[0][plane * s.out + place % s.out];
        taps.each([&](std::int64_t element, double weight, const std::vector<double>& slopes) {
          const std::int64_t at = plane * s.in + element;
          dx[static_cast<std::size_t>(at)] += weight * dy;
          for (std::size_t i = 0; i < axes; ++i) dplace[i] += slopes[i] * dy * in[1][at];
        });
      }
      for (std::size_t i = 0; i < axes; ++i)
        out[1].set(place * static_cast<std::int64_t>(axes) + static_cast<std::int64_t>(i),
                   dplace[axes - 1 - i]);
    }
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, dx[static_cast<std::size_t>(i)]);
  });
}

constexpr Kernel grid_sample_kernels[] = {{"reference", grid_sample_reference}};
constexpr Kernel grid_sample_gradient_kernels[] = {{"reference", grid_sample_gradient_reference}};

}  // namespace

TensorTypes GridSample::infer(const Inference& in) const {
  return {{in.dtype(0), sampled_shape(*this, in, 0)}};
}

TensorTypes GridSampleGradient::infer(const Inference& in) const {
  const Shape y = sampled_shape(*this, in, 1);
  require(in.shape(0) == y, "GridSampleGradient: expected dy of ", y, ", got ", in.type(0));
  return {in.type(1), in.type(2)};
}

Values GridSample::gradient(Gradient& g) const {
  const Value first = g.add(GridSampleGradient{align_corners, mode, padding_mode},
                            {g.output_gradient(), g.input(0), g.input(1)});
  return {first, {first.node, 1}};
}

std::span<const Kernel> GridSample::kernels() { return grid_sample_kernels; }
std::span<const Kernel> GridSampleGradient::kernels() { return grid_sample_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(grid_sample, narrowgauge::GridSample, narrowgauge::GridSampleGradient)
