// SPDX-License-Identifier: Apache-2.0
// Bounded convolutions of bf16 on any kernel that takes them, beside sums in f64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/threads/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/contraction/bounded_convolution.h"

namespace narrowgauge::cpu {

struct BoundedUnderTest {
  std::string (*reason)(const BoundedConvolution&, Isa);
  Prepared (*prepare)(const BoundedConvolution&);
  Layout x_layout;
};

// The epilogue of the sums, and which dtype the biases have.
struct Behind {
  bool residual = false, lasting = true;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  DType bias = DType::bf16;
};

class BoundedCase {
 public:
  BoundedCase(const BoundedUnderTest& kernel, const ConvolutionCase& shape,
              const Behind& behind = {}, DType dtype = DType::bf16)
      : kernel_(kernel),
        shape_(shape),
        x_(dtype, shape.x_dims(), kernel.x_layout),
        w_(dtype, shape.w_dims()),
        y_(dtype, shape.y_dims(), Layout::channels_last) {
    x_.randomize(1);
    w_.randomize(2);
    c_.views = {x_.view(), w_.view(), y_.view(), {}};
    c_.window = shape.window();
    if (shape.bias) {
      bias_.emplace(behind.bias, Dims{shape.outputs}).randomize(3);
      c_.views.bias = bias_->view();
    }
    if (behind.residual) {
      residual_.emplace(dtype, shape.y_dims(), Layout::channels_last).randomize(4);
      c_.residual = residual_->view();
    }
    c_.low = behind.low;
    c_.high = behind.high;
    if (behind.lasting) c_.lasting = {bounded_w, bounded_bias};
  }

  std::string reason() const { return kernel_.reason(c_, isa()); }
  GuardedArray result(int threads = 2) {
    GuardedArray y = y_;
    c_.threads = threads;
    run(kernel_.prepare(c_),
        {&x_, &w_, bias_ ? &*bias_ : nullptr, residual_ ? &*residual_ : nullptr}, {&y});
    return y;
  }
  std::vector<double> reference() const {
    std::vector<double> y =
        ConvolutionReference(shape_, x_, w_, y_).forward(bias_ ? &*bias_ : nullptr);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (residual_) y[i] += residual_->at(static_cast<std::int64_t>(i));
      if (y[i] < c_.low) y[i] = c_.low;
      if (y[i] > c_.high) y[i] = c_.high;
    }
    return y;
  }
  GuardedArray& x() { return x_; }
  GuardedArray& w() { return w_; }

 private:
  BoundedUnderTest kernel_;
  const ConvolutionCase& shape_;
  GuardedArray x_, w_, y_;
  std::optional<GuardedArray> bias_, residual_;
  BoundedConvolution c_;
};

inline void expect_exact_sums(const BoundedUnderTest& kernel, const ConvolutionCase& shape,
                              const Behind& behind = {}) {
  BoundedCase bounded(kernel, shape, behind);
  expect_within_format(bounded.result(), bounded.reference(), shape.name);
}

// Expects exact sums of all usual cases that the kernel takes, which are at least so many, and of
// its own ones.
inline void expect_exact_sums(const BoundedUnderTest& kernel,
                              const std::vector<ConvolutionCase>& own, int at_least) {
  std::vector<ConvolutionCase> cases = convolution_cases();
  cases.insert(cases.end(), own.begin(), own.end());
  int taken = 0;
  for (const ConvolutionCase& shape : cases) {
    if (!BoundedCase(kernel, shape).reason().empty()) continue;
    ++taken;
    expect_exact_sums(kernel, shape);
  }
  EXPECT_GE(taken, at_least);
}

inline void expect_bits_of_any_threads(const BoundedUnderTest& kernel, const ConvolutionCase& shape,
                                       const Behind& behind) {
  BoundedCase bounded(kernel, shape, behind);
  const GuardedArray one = bounded.result(1);
  for (const int threads : {2, 5}) {
    const ThreadScope scope(threads);
    EXPECT_TRUE(bounded.result(threads).same_bytes(one)) << shape.name;
  }
}

// What no bound hides: NaN is where exact arithmetic has it.
inline void expect_nan_as_exact(const BoundedUnderTest& kernel, const ConvolutionCase& shape,
                                bool in_weights) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
    BoundedCase bounded(kernel, shape, {.low = -3, .high = 3});
    (in_weights ? bounded.w() : bounded.x()).set(2, bad);
    const GuardedArray result = bounded.result();
    const std::vector<double> expected = bounded.reference();
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const double exact = expected[static_cast<std::size_t>(i)];
      ASSERT_EQ(std::isnan(result.at(i)), std::isnan(exact)) << shape.name << ' ' << i;
    }
  }
}

}  // namespace narrowgauge::cpu
