// SPDX-License-Identifier: Apache-2.0
// Convolutions by constant weights, on tiles of pixels, against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/tiles/pixel_convolution.h"
#include "kernels/needs_tiles.h"

namespace narrowgauge::cpu::pixel_tiles_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Cases beside those of all convolutions: several parts of an image, several images in a part,
// weights of more bytes than stay near, channels that fill no step.
const std::vector<ConvolutionCase>& larger_cases() {
  static const std::vector<ConvolutionCase> list = {
      {"parts of an image", 2, 64, 40, {33, 30}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"parts with a stride", 1, 48, 96, {41, 27}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"small images", 19, 70, 66, {5, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"pixels", 3, 100, 50, {19, 13}, {1, 1}, {}, {}, {}, {}, 1, true},
      {"pixels with a stride", 3, 100, 50, {39, 40}, {1, 1}, {2, 3}, {}, {}, {}, 1, true},
      {"whole pixels with a stride", 2, 64, 66, {33, 30}, {1, 1}, {2, 2}},
      {"pixels behind the image", 2, 32, 32, {7, 8}, {1, 1}, {2, 2}, {}, {}, {2, 1}},
      {"many panels", 1, 544, 320, {5, 5}, {1, 1}},
      {"panels in several runs", 1, 1100, 640, {9, 5}, {1, 1}, {}, {}, {}, {}, 1, true},
      {"first layer, 7x7", 1, 3, 64, {37, 30}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}, 1, true},
      {"gathered, no pads", 2, 5, 33, {9, 14}, {2, 4}, {1, 3}},
      {"gathered, wide pads", 1, 8, 8, {4, 2}, {3, 5}, {}, {}, {1, 6}, {1, 7}},
  };
  return list;
}

bool tiles_take(const ConvolutionCase& c) { return c.groups == 1 && c.size.size() < 3; }

struct Behind {
  bool residual = false;
  float low = -infinity, high = infinity;
  bool gelu = false;
};

class Fixture {
 public:
  explicit Fixture(const ConvolutionCase& shape, DType x = DType::bf16, DType y = DType::bf16,
                   const Behind& behind = {})
      : shape_(shape),
        behind_(behind),
        x_(x, shape.x_dims(), Layout::channels_last),
        w_(x, shape.w_dims()),
        bias_(DType::f32, {shape.outputs}),
        residual_(y, shape.y_dims(), Layout::channels_last),
        y_(y, shape.y_dims(), Layout::channels_last) {
    x_.randomize(1);
    w_.randomize(2);
    bias_.randomize(3);
    residual_.randomize(4);
  }

  BoundedConvolution convolution() const {
    BoundedConvolution c{.views = {x_.view(), w_.view(), y_.view(), {}},
                         .window = shape_.window(),
                         .low = behind_.low,
                         .high = behind_.high,
                         .gelu = behind_.gelu,
                         .lasting = {bounded_w}};
    if (shape_.bias) c.views.bias = bias_.view();
    if (behind_.residual) c.residual = residual_.view();
    return c;
  }
  std::string reason() const { return pixel_convolution_reason(convolution(), Isa::amx); }
  GuardedArray result(int threads = 0, const Finish& finish = {}) const {
    GuardedArray y = y_;
    BoundedConvolution c = convolution();
    c.threads = threads;
    run(prepare_pixel_convolution(c, finish), {&x_, &w_, &bias_, &residual_}, {&y});
    EXPECT_TRUE(y.guards_intact()) << shape_.name;
    return y;
  }
  // The result in the place of the residual.
  GuardedArray result_in_place() const {
    GuardedArray y = residual_;
    run(prepare_pixel_convolution(convolution()), {&x_, &w_, &bias_, &y}, {&y});
    return y;
  }
  std::vector<double> reference() const {
    std::vector<double> y =
        ConvolutionReference(shape_, x_, w_, y_).forward(shape_.bias ? &bias_ : nullptr);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (behind_.residual) y[i] += residual_.at(static_cast<std::int64_t>(i));
      y[i] = std::min(std::max(y[i], double{behind_.low}), double{behind_.high});
      if (behind_.gelu) y[i] *= std::erfc(-y[i] / std::numbers::sqrt2) / 2;
    }
    return y;
  }
  GuardedArray& x() { return x_; }
  const GuardedArray& y() const { return y_; }

 private:
  const ConvolutionCase& shape_;
  Behind behind_;
  GuardedArray x_, w_, bias_, residual_, y_;
};

class PixelTilesTest : public testing::Test {
 protected:
  void SetUp() override { NG_NEEDS_TILES(); }
};

template <class Body>
void for_all_cases(const Body& body) {
  for (const auto* cases : {&convolution_cases(), &larger_cases()})
    for (const ConvolutionCase& c : *cases)
      if (tiles_take(c)) body(c);
}

TEST_F(PixelTilesTest, bf16_is_exact_products_added_in_f32_and_rounded_once) {
  for_all_cases([](const ConvolutionCase& c) {
    for (const DType y : {DType::bf16, DType::f32}) {
      const Fixture fixture(c, DType::bf16, y);
      expect_within_format(fixture.result(), fixture.reference(), concat(c.name, ' ', y));
    }
  });
}

TEST_F(PixelTilesTest, f32_is_multiplied_in_two_parts) {
  for_all_cases([](const ConvolutionCase& c) {
    const Fixture fixture(c, DType::f32, DType::f32);
    if (!fixture.reason().empty()) return;  // few products
    EXPECT_LT(relative_error(fixture.result().values(), fixture.reference()), 1e-5) << c.name;
  });
}

TEST_F(PixelTilesTest, what_is_behind_the_sums_is_not_rounded_between) {
  for_all_cases([](const ConvolutionCase& c) {
    for (const Behind& behind :
         {Behind{.residual = true, .low = 0}, Behind{.low = -0.5F, .high = 1.5F},
          Behind{.residual = true, .high = 2}})
      for (const DType y : {DType::bf16, DType::f32}) {
        const Fixture fixture(c, DType::bf16, y, behind);
        const GuardedArray result = fixture.result();
        expect_within_format(result, fixture.reference(), concat(c.name, ' ', y));
        if (behind.residual) {
          EXPECT_EQ(fixture.result_in_place().values(), result.values());
        }
      }
  });
}

TEST_F(PixelTilesTest, gelu_is_that_of_the_sums) {
  for_all_cases([](const ConvolutionCase& c) {
    const Fixture fixture(c, DType::bf16, DType::bf16, {.gelu = true});
    const GuardedArray y = fixture.result();
    const std::vector<double> exact = fixture.reference();
    // Rounding, the polynomial, and what sums in f32 lose where they cancel.
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const double expected = exact[static_cast<std::size_t>(i)];
      ASSERT_NEAR(y.at(i), expected, (0x1p-8 + 0x1p-14) * std::abs(expected) + 1e-5) << c.name;
    }
  });
}

TEST_F(PixelTilesTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& c : larger_cases()) {
    const Fixture fixture(c);
    const GuardedArray alone = fixture.result(1);
    for (const int threads : {2, 3}) {
      const ThreadScope scope(threads);
      EXPECT_TRUE(fixture.result(threads).same_bytes(alone)) << c.name;
    }
  }
}

// Large tasks, as one thread takes them.
TEST_F(PixelTilesTest, panels_read_what_the_first_one_stores_and_take_chunks_of_steps) {
  const ConvolutionCase all[] = {{"stored tiles", 1, 576, 544, {17, 15}, {1, 1}},
                                 {"stored tiles in chunks", 1, 1920, 512, {17, 16}, {1, 1}},
                                 {"chunks", 1, 1632, 256, {19, 15}, {1, 1}}};
  for (const ConvolutionCase& c : all) {
    const Fixture fixture(c);
    expect_within_format(fixture.result(1), fixture.reference(), c.name);
  }
}

// Channels that fill no step, and pixels that are gathered: what lies beside a window in memory
// does not reach its sum.
TEST_F(PixelTilesTest, an_infinity_reaches_the_windows_that_see_it_and_no_other) {
  const ConvolutionCase all[] = {
      {"odd pixels", 2, 37, 33, {6, 6}, {1, 1}},
      {"odd pixels with a stride", 2, 37, 33, {9, 9}, {1, 1}, {2, 2}},
      {"odd windows", 2, 13, 34, {7, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"a gathered line", 1, 21, 32, {13, 13}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"a gathered window", 2, 5, 32, {9, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}}};
  for (const DType dtype : {DType::bf16, DType::f32})
    for (const ConvolutionCase& c : all) {
      for (const std::int64_t at : {std::int64_t{0}, c.channels * 5 + 1}) {
        Fixture fixture(c, dtype, dtype);
        fixture.x().set(at, double{infinity});
        const std::vector<double> got = fixture.result().values(), sums = fixture.reference();
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(std::isfinite(got[i]), std::isfinite(sums[i])) << c.name << ' ' << i;
      }
    }
}

TEST_F(PixelTilesTest, finishes_each_part_of_the_result_once) {
  for_all_cases([](const ConvolutionCase& c) {
    const Fixture fixture(c, DType::bf16, DType::f32);
    std::mutex mutex;
    std::vector<int> finished(static_cast<std::size_t>(fixture.y().size()));
    const Finish finish = [&](const Call&, std::int64_t begin, std::int64_t end) {
      const std::lock_guard lock(mutex);
      for (std::int64_t i = begin; i < end; ++i) ++finished[static_cast<std::size_t>(i)];
    };
    (void)fixture.result(2, finish);
    EXPECT_EQ(std::ranges::count(finished, 1), std::ssize(finished)) << c.name;
  });
}

TEST(pixel_convolution_reason, names_what_does_not_fit) {
  const ConvolutionCase& c = convolution_cases()[0];
  const Fixture fixture(c);
  const auto reason = [&](const auto& change, Isa isa = Isa::amx) {
    BoundedConvolution convolution = fixture.convolution();
    change(convolution);
    return pixel_convolution_reason(convolution, isa);
  };
  using Case = BoundedConvolution;
  EXPECT_EQ(reason([](Case&) {}), "");
  EXPECT_EQ(reason([](Case&) {}, Isa::vnni), "tiles need amx, this is vnni");
  EXPECT_EQ(reason([](Case& made) { made.views.x.dtype = DType::f16; }), "images of f16");
  EXPECT_EQ(reason([](Case& made) { made.views.w.dtype = DType::f32; }), "weights of f32");
  EXPECT_EQ(reason([](Case& made) { made.views.y.dtype = DType::f16; }), "result of f16");
  EXPECT_EQ(reason([](Case& made) { made.lasting.clear(); }), "weights that may change");
  EXPECT_EQ(reason([](Case& made) { made.window.groups = 2; }), "groups of channels");
  EXPECT_EQ(reason([](Case& made) { made.residual = dense_view(DType::bf16, made.views.y.dims); }),
            "a residual that lies otherwise");
  EXPECT_EQ(reason([](Case& made) { made.views.x = dense_view(DType::bf16, made.views.x.dims); }),
            "channels that lie apart");
  const ConvolutionCase few{"few", 1, 8, 16, {4, 4}, {1, 1}};
  EXPECT_EQ(Fixture(few, DType::f32, DType::f32).reason(), "16 sums of 8 products for 16 channels");
}

}  // namespace
}  // namespace narrowgauge::cpu::pixel_tiles_test
