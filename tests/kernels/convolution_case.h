// SPDX-License-Identifier: Apache-2.0
// The shapes that convolutions are tested with, and an independent reference in double.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/array.h"
#include "kernels/cpu/contraction/contraction.h"

namespace narrowgauge::cpu {

struct ConvolutionCase {
  const char* name;
  std::int64_t batch, channels, outputs;
  Dims size, kernel;
  Dims strides = {}, dilations = {}, pads_begin = {}, pads_end = {};  // empty: 1, 1, 0, 0
  std::int64_t groups = 1;
  bool bias = false;

  ConvolutionWindow window() const {
    const auto filled = [&](const Dims& dims, std::int64_t otherwise) {
      return dims.empty() ? Dims(size.size(), otherwise) : dims;
    };
    return {filled(strides, 1), filled(dilations, 1), filled(pads_begin, 0), filled(pads_end, 0),
            groups};
  }
  Dims x_dims() const { return with(batch, channels, size); }
  Dims w_dims() const { return with(outputs, channels / groups, kernel); }
  Dims y_dims() const {
    const ConvolutionWindow w = window();
    Dims spatial;
    for (std::size_t i = 0; i < size.size(); ++i)
      spatial.push_back(
          (size[i] + w.pads_begin[i] + w.pads_end[i] - (kernel[i] - 1) * w.dilations[i] - 1) /
              w.strides[i] +
          1);
    return with(batch, outputs, spatial);
  }

 private:
  static Dims with(std::int64_t a, std::int64_t b, Dims rest) {
    rest.insert(rest.begin(), {a, b});
    return rest;
  }
};

inline const std::vector<ConvolutionCase>& convolution_cases() {
  static const std::vector<ConvolutionCase> cases = {
      {"resnet", 4, 16, 32, {9, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"first layer", 3, 3, 16, {12, 12}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"one channel, 5x5", 2, 1, 6, {14, 14}, {5, 5}, {}, {}, {2, 2}, {2, 2}, 1, true},
      {"odd channels", 2, 13, 17, {7, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"stride 2", 3, 16, 32, {8, 8}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"stride 2, odd size", 3, 16, 16, {9, 7}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"stride larger than kernel", 2, 16, 16, {10, 10}, {2, 2}, {3, 3}},
      {"1x1", 2, 64, 32, {6, 6}, {1, 1}, {}, {}, {}, {}, 1, true},
      {"1x1 stride 2", 2, 32, 64, {8, 8}, {1, 1}, {2, 2}},
      {"1x1 odd channels", 2, 5, 7, {6, 6}, {1, 1}},
      {"1x1 with pads", 2, 16, 16, {5, 5}, {1, 1}, {}, {}, {1, 1}, {1, 1}},
      {"asymmetric pads", 2, 16, 16, {8, 8}, {3, 3}, {2, 2}, {}, {0, 1}, {1, 0}},
      {"asymmetric strides", 2, 16, 16, {8, 9}, {3, 2}, {2, 1}, {}, {1, 0}, {1, 1}},
      {"even kernel", 2, 16, 16, {8, 8}, {4, 4}, {}, {}, {1, 1}, {2, 2}},
      {"pads larger than kernel", 2, 16, 16, {5, 5}, {3, 3}, {}, {}, {4, 4}, {4, 4}},
      {"dilation", 2, 16, 32, {11, 11}, {3, 3}, {}, {2, 2}, {2, 2}, {2, 2}},
      {"dilation and stride", 2, 8, 8, {11, 12}, {3, 3}, {2, 2}, {2, 3}, {2, 1}, {1, 2}},
      {"4 groups", 2, 16, 16, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 4, true},
      {"groups of 16", 2, 64, 64, {6, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 4},
      {"3 odd groups", 2, 9, 6, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 3, true},
      {"depthwise", 2, 32, 32, {8, 8}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 32, true},
      {"depthwise stride 2", 2, 32, 32, {8, 8}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, 32},
      {"depthwise odd", 2, 7, 7, {8, 8}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 7},
      {"depthwise dilated", 2, 16, 16, {9, 9}, {3, 3}, {}, {2, 2}, {2, 2}, {2, 2}, 16},
      {"depthwise multiplied", 2, 16, 32, {8, 8}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 16},
      {"1-D", 2, 16, 32, {20}, {3}, {}, {}, {1}, {1}, 1, true},
      {"1-D odd, dilated", 2, 5, 7, {20}, {3}, {}, {4}, {4}, {4}},
      {"3-D", 2, 16, 16, {5, 6, 4}, {3, 3, 3}, {}, {}, {1, 1, 1}, {1, 1, 1}, 1, true},
      {"3-D odd, stride 2", 2, 3, 5, {6, 6, 6}, {3, 3, 3}, {2, 2, 2}, {}, {1, 1, 1}, {1, 1, 1}},
      {"3-D groups", 2, 16, 16, {4, 4, 4}, {3, 3, 3}, {}, {}, {1, 1, 1}, {1, 1, 1}, 2},
      {"3-D depthwise", 2, 16, 16, {4, 4, 4}, {3, 3, 3}, {}, {}, {1, 1, 1}, {1, 1, 1}, 16},
      {"batch of 1", 1, 16, 16, {8, 8}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"one image, rows", 1, 32, 32, {32, 32}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"one image, rows of stride 2", 1, 32, 64, {48, 48}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"two images, rows", 2, 32, 32, {40, 40}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"one image, channels", 1, 128, 128, {10, 10}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"single pixel, single channel", 1, 1, 1, {1, 1}, {1, 1}},
      {"window of the whole image", 3, 16, 10, {4, 4}, {4, 4}, {}, {}, {}, {}, 1, true},
      {"unused last rows", 2, 16, 16, {8, 8}, {3, 3}, {3, 3}},
      {"many images, some shards", 11, 32, 32, {10, 10}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
  };
  return cases;
}

// Depthwise ones beside those: panels of channels that are not whole, several blocks of pixels and
// windows that hang over both ends of a line.
inline const std::vector<ConvolutionCase>& depthwise_cases() {
  static const std::vector<ConvolutionCase> cases = {
      {"whole panels", 2, 128, 128, {5, 17}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 128, true},
      {"part of a panel", 1, 72, 72, {6, 31}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, 72, true},
      {"odd channels", 1, 65, 65, {4, 14}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 65},
      {"short lines", 3, 96, 96, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 96, true},
      {"5x5", 1, 40, 40, {9, 22}, {5, 5}, {}, {}, {2, 2}, {2, 2}, 40, true},
      {"5x5, stride 2", 2, 33, 33, {11, 20}, {5, 5}, {2, 2}, {}, {2, 1}, {1, 2}, 33, true},
      {"7x7", 1, 48, 48, {8, 18}, {7, 7}, {}, {}, {3, 3}, {3, 3}, 48, true},
      {"7x7, stride 2", 1, 16, 16, {9, 19}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}, 16},
      {"3 high, 5 wide", 1, 34, 34, {6, 9}, {3, 5}, {2, 1}, {}, {1, 2}, {1, 2}, 34, true},
      {"wider pads than windows", 1, 32, 32, {3, 3}, {3, 3}, {}, {}, {4, 4}, {4, 4}, 32, true},
      {"one line, one pixel", 2, 64, 64, {1, 1}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 64, true},
  };
  return cases;
}

// Convolutions of images of few channels, beside those.
inline const std::vector<ConvolutionCase>& image_cases() {
  static const std::vector<ConvolutionCase> cases = {
      {"colours, stride 2", 2, 3, 32, {12, 29}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, 1, true},
      {"outputs that fill no panel",
       1,
       4,
       21,
       {7, 15},
       {3, 3},
       {2, 1},
       {},
       {1, 1},
       {1, 0},
       1,
       true},
      {"three panels", 1, 3, 48, {6, 13}, {5, 5}, {1, 2}, {}, {2, 2}, {2, 2}},
      {"7 wide", 1, 2, 16, {9, 17}, {3, 7}, {2, 2}, {}, {1, 3}, {1, 3}, 1, true},
      {"pads as wide as lines", 1, 3, 16, {4, 3}, {3, 3}, {}, {}, {5, 6}, {5, 6}, 1, true},
  };
  return cases;
}

struct ConvolutionArrays {
  GuardedArray x, w, y;
  std::optional<GuardedArray> bias;
};

// x and w random, y = conv(x, w) + bias; for the gradients dx of y and dw of (x, y).
class ConvolutionReference {
 public:
  ConvolutionReference(const ConvolutionCase& shape, const GuardedArray& x, const GuardedArray& w,
                       const GuardedArray& y)
      : shape_(shape),
        window_(shape.window()),
        x_(x.values()),
        w_(w.values()),
        y_(y.values()),
        x_dims_(x.view().dims),
        w_dims_(w.view().dims),
        y_dims_(y.view().dims) {}

  std::vector<double> forward(const GuardedArray* bias) const {
    std::vector<double> result(y_.size());
    visit([&](std::size_t ix, std::size_t iw, std::size_t iy) { result[iy] += x_[ix] * w_[iw]; });
    const auto count = static_cast<std::int64_t>(y_.size());
    const std::int64_t places = count / (shape_.batch * shape_.outputs);
    for (std::int64_t i = 0; bias && i < count; ++i)
      result[static_cast<std::size_t>(i)] += bias->at(i / places % shape_.outputs);
    return result;
  }
  std::vector<double> data_gradient() const {
    std::vector<double> result(x_.size());
    visit([&](std::size_t ix, std::size_t iw, std::size_t iy) { result[ix] += y_[iy] * w_[iw]; });
    return result;
  }
  std::vector<double> weight_gradient() const {
    std::vector<double> result(w_.size());
    visit([&](std::size_t ix, std::size_t iw, std::size_t iy) { result[iw] += y_[iy] * x_[ix]; });
    return result;
  }

 private:
  // Every multiplication, as flat indices into x, w and y.
  template <class Body>
  void visit(const Body& body) const {
    const std::size_t axes = shape_.size.size();
    const Dims &x = x_dims_, &w = w_dims_, &y = y_dims_;
    const auto count = static_cast<std::int64_t>(y_.size());
    std::int64_t places = 1, taps = 1;
    for (std::size_t i = 0; i < axes; ++i) places *= y[i + 2], taps *= w[i + 2];
    for (std::int64_t iy = 0; iy < count; ++iy) {
      const std::int64_t n = iy / places / y[1], m = iy / places % y[1];
      const std::int64_t first = m / (y[1] / shape_.groups) * w[1];
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        std::int64_t place = iy % places, rest = tap, from = 0, step = 1;
        bool inside = true;
        for (std::size_t i = axes; i-- > 0;) {
          const std::int64_t at = place % y[i + 2] * window_.strides[i] - window_.pads_begin[i] +
                                  rest % w[i + 2] * window_.dilations[i];
          inside = inside && at >= 0 && at < x[i + 2];
          from += at * step;
          step *= x[i + 2];
          place /= y[i + 2];
          rest /= w[i + 2];
        }
        for (std::int64_t c = 0; inside && c < w[1]; ++c)
          body(static_cast<std::size_t>((n * x[1] + first + c) * step + from),
               static_cast<std::size_t>((m * w[1] + c) * taps + tap), static_cast<std::size_t>(iy));
      }
    }
  }

  const ConvolutionCase& shape_;
  ConvolutionWindow window_;
  std::vector<double> x_, w_, y_;
  Dims x_dims_, w_dims_, y_dims_;
};

}  // namespace narrowgauge::cpu
