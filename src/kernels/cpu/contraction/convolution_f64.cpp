// SPDX-License-Identifier: Apache-2.0
// Convolutions over f64 in plain loops, each output element summed on its own: for checks, not for
// speed.
#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/contraction_parts.h"
#include "kernels/cpu/core/view5.h"

namespace narrowgauge::cpu {
namespace {

template <class Body>
void for_each(const Index3& size, const Body& body) {
  for (std::int64_t i = 0; i < size[0]; ++i)
    for (std::int64_t j = 0; j < size[1]; ++j)
      for (std::int64_t k = 0; k < size[2]; ++k) body(Index3{i, j, k});
}

class Convolution64 {
 public:
  Convolution64(const ConvolutionViews& views, const ConvolutionWindow& window)
      : x_(views.x),
        w_(views.w),
        y_(views.y),
        bias_stride_(views.bias ? views.bias->strides[0] : 0),
        strides_(three(window.strides, 1)),
        dilations_(three(window.dilations, 1)),
        pads_(three(window.pads_begin, 0)),
        groups_(window.groups) {}

  void forward(const double* x, const double* w, const double* bias, double* y) const {
    each_pair(y_.dims[0], y_.dims[1], [&](std::int64_t n, std::int64_t m) {
      const std::int64_t channels = w_.dims[1], first = m / outputs_each() * channels;
      for_each(y_.spatial(), [&](const Index3& place) {
        double sum = bias ? bias[m * bias_stride_] : 0;
        for (std::int64_t c = 0; c < channels; ++c)
          for_each(w_.spatial(), [&](const Index3& tap) {
            if (Index3 from; source(place, tap, from))
              sum += x[x_.at(n, first + c, from)] * w[w_.at(m, c, tap)];
          });
        y[y_.at(n, m, place)] = sum;
      });
    });
  }

  void data_gradient(const double* w, const double* y, double* x) const {
    each_pair(x_.dims[0], x_.dims[1], [&](std::int64_t n, std::int64_t c) {
      const std::int64_t first = c / w_.dims[1] * outputs_each();
      for_each(x_.spatial(), [&](const Index3& place) {
        double sum = 0;
        for (std::int64_t m = first; m < first + outputs_each(); ++m)
          for_each(w_.spatial(), [&](const Index3& tap) {
            if (Index3 to; target(place, tap, to))
              sum += y[y_.at(n, m, to)] * w[w_.at(m, c % w_.dims[1], tap)];
          });
        x[x_.at(n, c, place)] = sum;
      });
    });
  }

  void weight_gradient(const double* x, const double* y, double* w) const {
    each_pair(w_.dims[0], w_.dims[1], [&](std::int64_t m, std::int64_t c) {
      const std::int64_t channel = m / outputs_each() * w_.dims[1] + c;
      for_each(w_.spatial(), [&](const Index3& tap) {
        double sum = 0;
        for (std::int64_t n = 0; n < x_.dims[0]; ++n)
          for_each(y_.spatial(), [&](const Index3& place) {
            if (Index3 from; source(place, tap, from))
              sum += x[x_.at(n, channel, from)] * y[y_.at(n, m, place)];
          });
        w[w_.at(m, c, tap)] = sum;
      });
    });
  }

 private:
  template <class Body>
  static void each_pair(std::int64_t outer, std::int64_t inner, const Body& body) {
    parallel_for(outer * inner, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i / inner, i % inner);
    });
  }

  std::int64_t outputs_each() const { return w_.dims[0] / groups_; }

  // The place in x that an output place sees through a tap; false if it is in the padding.
  bool source(const Index3& place, const Index3& tap, Index3& from) const {
    for (std::size_t i = 0; i < 3; ++i) {
      from[i] = place[i] * strides_[i] - pads_[i] + tap[i] * dilations_[i];
      if (from[i] < 0 || from[i] >= x_.dims[i + 2]) return false;
    }
    return true;
  }

  // The output place that sees a place of x through a tap; false if there is none.
  bool target(const Index3& place, const Index3& tap, Index3& to) const {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t offset = place[i] + pads_[i] - tap[i] * dilations_[i];
      to[i] = offset / strides_[i];
      if (offset < 0 || offset % strides_[i] != 0 || to[i] >= y_.dims[i + 2]) return false;
    }
    return true;
  }

  View5 x_, w_, y_;
  std::int64_t bias_stride_;
  Index3 strides_, dilations_, pads_;
  std::int64_t groups_;
};

}  // namespace

Prepared prepare_convolution_f64(ConvolutionPass pass, const ConvolutionViews& views,
                                 const ConvolutionWindow& window) {
  const bool biased = views.bias.has_value();
  return {"f64 loops", 0,
          [pass, biased, convolution = Convolution64(views, window)](const Call& call) {
            const auto input = [&](int index) {
              return static_cast<const double*>(call.inputs[index]);
            };
            auto* out = static_cast<double*>(call.outputs[0]);
            if (pass == ConvolutionPass::forward)
              convolution.forward(input(0), input(1), biased ? input(2) : nullptr, out);
            else if (pass == ConvolutionPass::data_gradient)
              convolution.data_gradient(input(0), input(1), out);
            else
              convolution.weight_gradient(input(0), input(1), out);
          }};
}

}  // namespace narrowgauge::cpu
