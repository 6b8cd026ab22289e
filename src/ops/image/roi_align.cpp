// SPDX-License-Identifier: Apache-2.0
#include "ops/image/roi_align.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// The shape of y; x, rois and batch_indices are inputs from `first` on.
Shape aligned_shape(const RoiAlign& op, const Inference& in, int first) {
  const std::string& how = op.coordinate_transformation_mode;
  require(how == "half_pixel" || how == "output_half_pixel", in.op_name(),
          ": coordinate_transformation_mode must be half_pixel or output_half_pixel, got '", how,
          "'");
  require(op.mode == "avg" || op.mode == "max", in.op_name(), ": mode must be avg or max, got '",
          op.mode, "'");
  const auto legal = [](std::int64_t value, std::int64_t least) {
    return value >= least && value <= INT32_MAX;
  };
  require(legal(op.output_height, 1) && legal(op.output_width, 1) && legal(op.sampling_ratio, 0),
          in.op_name(), ": output sizes must be positive and sampling_ratio not negative, got ",
          op.output_height, ", ", op.output_width, " and ", op.sampling_ratio);
  require(std::isfinite(op.spatial_scale), in.op_name(), ": spatial_scale must be finite, got ",
          op.spatial_scale);
  const Shape &x = in.shape(first), &rois = in.shape(first + 1), &batch = in.shape(first + 2);
  require(x.size() == 4 && rois.size() == 2 && rois[1] == Dim(4) && batch == Shape{rois[0]},
          in.op_name(), ": expected x [N,C,H,W], rois [R,4] and batch_indices [R], got ",
          in.type(first), ", ", in.type(first + 1), " and ", in.type(first + 2));
  require(!(x[2] == Dim(0)) && !(x[3] == Dim(0)), in.op_name(), ": x ", x, " has no pixels");
  return {rois[0], x[1], op.output_height, op.output_width};
}

// The two pixels around a place along one axis, with their weights; outside of x there are none.
struct Pair {
  std::array<std::int64_t, 2> pixel{};
  std::array<double, 2> weight{};
};
Pair pair_at(double place, std::int64_t size) {
  if (!(place >= -1 && place <= static_cast<double>(size))) return {};
  place = std::clamp(place, 0.0, static_cast<double>(size - 1));
  const auto low = static_cast<std::int64_t>(place);
  const double part = place - static_cast<double>(low);
  return {{low, std::min(low + 1, size - 1)}, {1 - part, part}};
}

// One axis of a region: bins, and the points in each.
struct RegionAxis {
  double start, bin;
  std::int64_t points;
  double place(std::int64_t number, std::int64_t point) const {
    return start + (static_cast<double>(number) +
                    (static_cast<double>(point) + 0.5) / static_cast<double>(points)) *
                       bin;
  }
};

class Region {
 public:
  Region(const RoiAlign& op, const Dims& x, const ReferenceView& rois, std::int64_t region)
      : height_(x[2]),
        width_(x[3]),
        rows_(axis(op, rois[region * 4 + 1], rois[region * 4 + 3], op.output_height)),
        columns_(axis(op, rois[region * 4], rois[region * 4 + 2], op.output_width)) {}

  double points() const {
    return static_cast<double>(std::max<std::int64_t>(1, rows_.points * columns_.points));
  }
  // Calls visit(pixel, weight) for the four pixels around each point of a bin.
  template <class Visit>
  void each(std::int64_t row, std::int64_t column, const Visit& visit) const {
    for (std::int64_t i = 0; i < rows_.points; ++i) {
      const Pair y = pair_at(rows_.place(row, i), height_);
      if (y.weight[0] + y.weight[1] == 0) {  // nothing of this row of points lies in x
        visit(0, 0.0);
        continue;
      }
      for (std::int64_t j = 0; j < columns_.points; ++j) {
        const Pair x = pair_at(columns_.place(column, j), width_);
        for (const std::size_t a : {0, 1})
          for (const std::size_t b : {0, 1})
            visit(y.pixel[a] * width_ + x.pixel[b], y.weight[a] * x.weight[b]);
      }
    }
  }

 private:
  // Regions beyond any image hold no more points than this along an axis.
  static constexpr double most_points = 1 << 12;

  static RegionAxis axis(const RoiAlign& op, double from, double to, std::int64_t bins) {
    const bool shifted = op.coordinate_transformation_mode == "half_pixel";
    const double start = from * op.spatial_scale - (shifted ? 0.5 : 0);
    double length = (to - from) * op.spatial_scale;
    if (!shifted) length = std::max(length, 1.0);
    const double bin = length / static_cast<double>(bins);
    const double points = std::isfinite(bin) ? std::clamp(std::ceil(bin), 0.0, most_points) : 0;
    return {start, bin,
            op.sampling_ratio > 0 ? op.sampling_ratio : static_cast<std::int64_t>(points)};
  }
  std::int64_t height_, width_;
  RegionAxis rows_, columns_;
};

// All bins of y, with the inputs rois and batch_indices.
struct Bins {
  const RoiAlign& op;
  const Dims &x, &y;
  const ReferenceView &rois, &images;

  // Calls visit(region, element of y, first element of the plane of x) for each bin.
  template <class Visit>
  void each(const Visit& visit) const {
    const std::int64_t of_region = y[1] * y[2] * y[3];
    for (std::int64_t r = 0; r < y[0]; ++r) {
      const Region region(op, x, rois, r);
      const std::int64_t image = images.integer(r);
      require<DataError>(image >= 0 && image < x[0], "RoiAlign: batch index ", image,
                         " is outside of ", x[0], " images");
      for (std::int64_t i = 0; i < of_region; ++i)
        visit(region, r * of_region + i, (image * x[1] + i / (y[2] * y[3])) * x[2] * x[3]);
    }
  }
  std::int64_t row(std::int64_t element) const { return element / y[3] % y[2]; }
  std::int64_t column(std::int64_t element) const { return element % y[3]; }
};

Offer roi_align_reference(const Request& request) {
  const auto op = request.as<RoiAlign>();
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const Bins bins{op, in[0].dims(), out[0].dims(), in[1], in[2]};
    bins.each([&](const Region& region, std::int64_t to, std::int64_t plane) {
      double sum = 0, most = -HUGE_VAL;
      region.each(bins.row(to), bins.column(to), [&](std::int64_t pixel, double weight) {
        const double value = weight * in[0][plane + pixel];
        sum += value;
        most = std::max(most, value);
      });
      const double largest = most == -HUGE_VAL ? 0 : most;
      out[0].set(to, op.mode == "avg" ? sum / region.points() : largest);
    });
  });
}

Offer roi_align_gradient_reference(const Request& request) {
  const auto op = request.as<RoiAlignGradient>().forward;
  return reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    std::vector<double> dx(static_cast<std::size_t>(out[0].size()));
    const Bins bins{op, in[1].dims(), in[0].dims(), in[2], in[3]};
    bins.each([&](const Region& region, std::int64_t from, std::int64_t plane) {
      double most = -HUGE_VAL, of_most = 0;
      std::int64_t at = plane;
      region.each(bins.row(from), bins.column(from), [&](std::int64_t pixel, double weight) {
        const double value = weight * in[1][plane + pixel];
        if (op.mode == "avg")
          dx[static_cast<std::size_t>(plane + pixel)] += weight * in[0][from] / region.points();
        else if (value > most)
          most = value, of_most = weight, at = plane + pixel;
      });
      dx[static_cast<std::size_t>(at)] += of_most * in[0][from];
    });
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, dx[static_cast<std::size_t>(i)]);
  });
}

constexpr Kernel roi_align_kernels[] = {{"reference", roi_align_reference}};
constexpr Kernel roi_align_gradient_kernels[] = {{"reference", roi_align_gradient_reference}};

}  // namespace

TensorTypes RoiAlign::infer(const Inference& in) const {
  return {{in.dtype(0), aligned_shape(*this, in, 0)}};
}

TensorTypes RoiAlignGradient::infer(const Inference& in) const {
  const Shape y = aligned_shape(forward, in, 1);
  require(in.shape(0) == y, "RoiAlignGradient: expected dy of ", y, ", got ", in.type(0));
  return {in.type(1)};
}

Values RoiAlign::gradient(Gradient& g) const {
  return {g.add(RoiAlignGradient{*this}, {g.output_gradient(), g.input(0), g.input(1), g.input(2)}),
          absent, absent};
}

std::span<const Kernel> RoiAlign::kernels() { return roi_align_kernels; }
std::span<const Kernel> RoiAlignGradient::kernels() { return roi_align_gradient_kernels; }

}  // namespace narrowgauge

NG_OPS(roi_align, narrowgauge::RoiAlign, narrowgauge::RoiAlignGradient)
