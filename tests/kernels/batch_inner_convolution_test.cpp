// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner/batch_inner_convolution.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/batch_inner/image_convolution.h"

namespace narrowgauge::cpu::batch_inner_convolution_test {
namespace {

constexpr ConvolutionPass passes[] = {ConvolutionPass::forward, ConvolutionPass::data_gradient,
                                      ConvolutionPass::weight_gradient};

// Images as [N/32][y][x][C/32][32][32], between guards.
class Blocks {
 public:
  Blocks(DType dtype, const Dims& dims)
      : dims_(dims), storage_({dtype, {element_count(dims) + 64}, {1}}, element_count(dims) + 64) {}

  void take(const GuardedArray& images) {
    for (std::int64_t i = 0; i < images.size(); ++i) storage_.set(place(i), images.at(i));
  }
  void give(GuardedArray& images) const {
    for (std::int64_t i = 0; i < images.size(); ++i) images.set(i, storage_.at(place(i)));
  }
  void* data() { return at_offset(storage_.data(), dtype(), skipped()); }

 private:
  std::int64_t place(std::int64_t flat) const {
    const std::int64_t x = flat % dims_[3], y = flat / dims_[3] % dims_[2];
    const std::int64_t c = flat / dims_[3] / dims_[2] % dims_[1];
    const std::int64_t n = flat / dims_[3] / dims_[2] / dims_[1];
    const std::int64_t pixel = (n / 32 * dims_[2] + y) * dims_[3] + x;
    return skipped() + ((pixel * (dims_[1] / 32) + c / 32) * 32 + n % 32) * 32 + c % 32;
  }
  DType dtype() const { return storage_.view().dtype; }
  // Elements up to the first multiple of 64 bytes.
  std::int64_t skipped() const {
    const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(storage_.data()) % 64;
    return static_cast<std::int64_t>((64 - beyond) % 64) / bytes_for(1, dtype());
  }

  Dims dims_;
  GuardedArray storage_;
};

const std::vector<ConvolutionCase>& cases() {
  static const std::vector<ConvolutionCase> list = {
      {"3x3", 32, 32, 64, {6, 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"3x3, two groups of images, bias",
       64,
       64,
       32,
       {5, 4},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       1,
       true},
      {"1x1", 32, 96, 32, {3, 5}, {1, 1}, {}, {}, {}, {}, 1, true},
      {"1x1, wider", 32, 32, 96, {3, 5}, {1, 1}},
      {"1x1 stride 2", 32, 64, 32, {7, 6}, {1, 1}, {2, 2}},
      {"1x1 stride 2 with pads", 32, 32, 64, {5, 6}, {1, 1}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"3x3 stride 2", 32, 32, 64, {8, 7}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"3x3 stride 2, pads on one side", 32, 32, 32, {8, 8}, {3, 3}, {2, 2}, {}, {0, 1}, {1, 0}},
      {"3x2, strides 2 and 1", 32, 32, 32, {8, 9}, {3, 2}, {2, 1}, {}, {1, 0}, {1, 1}},
      {"dilation", 32, 32, 32, {9, 8}, {3, 3}, {}, {2, 2}, {2, 2}, {2, 2}},
      {"dilation and stride", 32, 32, 32, {11, 12}, {3, 3}, {2, 2}, {2, 3}, {2, 1}, {1, 2}},
      {"stride larger than kernel", 32, 32, 32, {10, 10}, {2, 2}, {3, 3}},
      {"pads larger than kernel", 32, 32, 32, {3, 3}, {3, 3}, {}, {}, {4, 4}, {4, 4}},
      {"large map", 32, 32, 64, {18, 17}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"large map, dy packed transposed", 32, 64, 32, {16, 16}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}},
      {"large map 1x1 stride 2", 64, 64, 32, {31, 30}, {1, 1}, {2, 2}},
      {"7x7", 32, 32, 32, {9, 9}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}},
      {"weights larger than a cache", 32, 352, 320, {3, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
  };
  return list;
}

// Convolutions of plain images.
const std::vector<ConvolutionCase>& image_cases() {
  static const std::vector<ConvolutionCase> list = {
      {"7x7 stride 2", 32, 3, 64, {17, 15}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}},
      {"3x3, two groups of images, bias",
       64,
       3,
       32,
       {6, 7},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       1,
       true},
      {"one channel, 5x5", 32, 1, 32, {20, 9}, {5, 5}, {}, {}, {2, 2}, {2, 2}},
      {"more than 32 values in a row of the kernel",
       32,
       4,
       32,
       {7, 12},
       {3, 9},
       {1, 2},
       {},
       {1, 4},
       {0, 3}},
      {"patches", 32, 3, 32, {8, 8}, {4, 4}, {4, 4}},
      {"rows apart", 32, 4, 32, {9, 5}, {3, 2}, {1, 1}, {2, 1}, {2, 0}, {2, 1}},
  };
  return list;
}

class Fixture {
 public:
  explicit Fixture(const ConvolutionCase& shape, DType weight_gradient = DType::bf16,
                   DType image = DType::bf16)
      : shape_(shape),
        image_(image),
        x_(image, shape.x_dims()),
        w_(image, shape.w_dims()),
        y_(image, shape.y_dims()),
        dw_(weight_gradient, shape.w_dims()),
        bias_(DType::f32, {shape.outputs}) {
    x_.randomize(1);
    w_.randomize(2, 0.5);
    y_.randomize(3);
    bias_.randomize(4);
  }
  GuardedArray& x() { return x_; }
  GuardedArray& y() { return y_; }
  GuardedArray& w() { return w_; }
  std::int64_t flushed() const { return flushed_; }

  BatchInnerConvolution convolution(ConvolutionPass pass) const {
    const bool backward = pass == ConvolutionPass::weight_gradient;
    BatchInnerConvolution c{pass,
                            shape_.x_dims(),
                            shape_.w_dims(),
                            shape_.y_dims(),
                            shape_.window(),
                            backward ? dw_.view().dtype : image_,
                            {},
                            image_};
    if (shape_.bias && pass == ConvolutionPass::forward) c.bias = DType::f32;
    return c;
  }

  GuardedArray result(ConvolutionPass pass) {
    const bool plain_images = shape_.channels % 32 != 0;
    const Prepared prepared = plain_images ? prepare_image_convolution(convolution(pass))
                                           : prepare_batch_inner_convolution(convolution(pass));
    Blocks x(image_, plain_images ? Dims{32, 32, 1, 1} : shape_.x_dims());
    Blocks y(image_, shape_.y_dims());
    if (!plain_images) x.take(x_);
    y.take(y_);
    GuardedArray out = pass == ConvolutionPass::forward ? y_ : pass == passes[1] ? x_ : dw_;
    std::vector<const void*> inputs;
    if (pass != ConvolutionPass::data_gradient)
      inputs.push_back(plain_images ? x_.data() : x.data());
    if (pass != ConvolutionPass::weight_gradient) inputs.push_back(w_.data());
    if (pass == ConvolutionPass::forward) inputs.push_back(bias_.data());
    if (pass != ConvolutionPass::forward) inputs.push_back(y.data());
    void* target = pass == ConvolutionPass::forward ? y.data()
                   : pass == passes[1]              ? x.data()
                                                    : out.data();
    std::vector<std::uint8_t> memory(static_cast<std::size_t>(prepared.workspace) + 128, 0xff);
    const std::size_t skipped = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    prepared.run({inputs.data(), &target, memory.data() + skipped, &flushed_});
    for (std::size_t i = static_cast<std::size_t>(prepared.workspace); i < memory.size() - skipped;
         ++i)
      EXPECT_EQ(memory[skipped + i], 0xff) << shape_.name << ", pass " << static_cast<int>(pass)
                                           << ": the workspace is longer than promised";
    if (pass == ConvolutionPass::forward) y.give(out);
    if (pass == ConvolutionPass::data_gradient) x.give(out);
    return out;
  }

  std::vector<double> reference(ConvolutionPass pass) {
    const ConvolutionReference reference(shape_, x_, w_, y_);
    if (pass == ConvolutionPass::forward) return reference.forward(shape_.bias ? &bias_ : nullptr);
    return pass == passes[1] ? reference.data_gradient() : reference.weight_gradient();
  }

 private:
  ConvolutionCase shape_;
  DType image_;
  GuardedArray x_, w_, y_, dw_, bias_;
  std::int64_t flushed_ = 0;
};

class BatchInnerConvolutionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() != Isa::amx) GTEST_SKIP() << "needs amx, this is " << name(isa());
  }
};

TEST_F(BatchInnerConvolutionTest, every_pass_is_exact_products_added_in_f32_and_rounded_once) {
  for (const ConvolutionCase& shape : cases())
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(shape);
      expect_within_format(fixture.result(pass), fixture.reference(pass),
                           concat(shape.name, ", pass ", static_cast<int>(pass)));
    }
}

TEST_F(BatchInnerConvolutionTest, plain_images_are_convolved_into_blocks) {
  for (const ConvolutionCase& shape : image_cases())
    for (const ConvolutionPass pass : {passes[0], passes[2]}) {
      Fixture fixture(shape, DType::f32);
      const GuardedArray result = fixture.result(pass);
      expect_within_format(result, fixture.reference(pass),
                           concat(shape.name, ", pass ", static_cast<int>(pass)));
      const ThreadScope one(1);
      EXPECT_TRUE(fixture.result(pass).same_bytes(result)) << shape.name;
    }
}

// Three of the four products of two values in two parts: what the fourth adds to an f32 is
// measured at 4.4e-6 of the sums; to an f16, less than a rounding to f32 does.
TEST_F(BatchInnerConvolutionTest, f32_and_f16_are_multiplied_in_two_parts) {
  std::vector<ConvolutionCase> all = cases();
  all.insert(all.end(), image_cases().begin(), image_cases().end());
  for (const ConvolutionCase& shape : all)
    for (const ConvolutionPass pass : passes) {
      const bool images = shape.channels % 32 != 0;
      if (shape.channels > 96 || shape.size[0] > 16) continue;  // of these nothing is special
      if (images && pass == ConvolutionPass::data_gradient) continue;
      // The two differ in how they are read and written only.
      const DType image = shape.bias || shape.kernel[0] == 7 ? DType::f16 : DType::f32;
      Fixture fixture(shape, image, image);
      const GuardedArray result = fixture.result(pass);
      const std::string what = concat(image, ", ", shape.name, ", pass ", int(pass));
      const std::vector<double> expected = fixture.reference(pass);
      if (image == DType::f16)
        expect_within_format(result, expected, what);
      else
        EXPECT_LE(relative_error(result.values(), expected), 6e-6) << what;
      const ThreadScope one(1);
      EXPECT_TRUE(fixture.result(pass).same_bytes(result)) << what;
    }
}

TEST_F(BatchInnerConvolutionTest, wide_rows_are_cut_into_columns) {
  const ConvolutionCase wide{"wide", 32, 96, 32, {3, 42}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  const ConvolutionCase strides{"strides", 32,     352, 352,    {6, 17},
                                {3, 3},    {2, 2}, {},  {1, 1}, {1, 1}};
  for (const ConvolutionCase& shape : {wide, strides})
    for (const ConvolutionPass pass : {passes[0], passes[1]}) {
      Fixture fixture(shape, DType::f32, DType::f32);
      EXPECT_LE(relative_error(fixture.result(pass).values(), fixture.reference(pass)), 6e-6)
          << shape.name << ", pass " << int(pass);
    }
}

TEST_F(BatchInnerConvolutionTest, results_that_become_zero_in_f16_are_counted) {
  const ConvolutionCase shape{"", 32, 32, 32, {2, 2}, {1, 1}};
  Fixture fixture(shape, DType::f16, DType::f16);
  for (std::int64_t i = 0; i < fixture.x().size(); ++i) fixture.x().set(i, i % 2 ? 6e-8 : 0);
  for (std::int64_t i = 0; i < fixture.w().size(); ++i)
    fixture.w().set(i, i == 0 || i == 32 ? 0.25 : 0);
  fixture.result(passes[0]);
  EXPECT_EQ(fixture.flushed(), 2 * 32 * 2);
}

TEST_F(BatchInnerConvolutionTest, weight_gradient_is_stored_in_f32_where_that_is_asked_for) {
  for (const std::size_t index : {std::size_t{0}, std::size_t{2}, cases().size() - 1}) {
    Fixture fixture(cases()[index], DType::f32);
    expect_within_format(fixture.result(passes[2]), fixture.reference(passes[2]),
                         cases()[index].name);
  }
}

TEST_F(BatchInnerConvolutionTest, bits_do_not_depend_on_threads) {
  for (const ConvolutionCase& shape : cases())
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(shape, DType::f32);
      const GuardedArray many = fixture.result(pass);
      const ThreadScope one(1);
      EXPECT_TRUE(fixture.result(pass).same_bytes(many)) << shape.name;
    }
}

TEST_F(BatchInnerConvolutionTest, what_a_nan_or_infinity_reaches_is_not_finite) {
  const ConvolutionCase shape{"3x3", 32, 64, 32, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  for (const DType image : {DType::bf16, DType::f32, DType::f16})
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (const ConvolutionPass pass : passes) {
        Fixture fixture(shape, image, image);
        fixture.x().set(777, bad);
        fixture.y().set(333, bad);
        const GuardedArray result = fixture.result(pass);
        const std::vector<double> expected = fixture.reference(pass);
        for (std::int64_t i = 0; i < result.size(); ++i)
          ASSERT_EQ(std::isfinite(result.at(i)),
                    std::isfinite(expected[static_cast<std::size_t>(i)]))
              << name(image);
      }
}

// Each in its own place, alone: an element that is not finite reaches all that it is multiplied
// for.
TEST_F(BatchInnerConvolutionTest,
       what_is_not_finite_in_plain_images_reaches_its_windows_and_no_other) {
  for (const ConvolutionCase& shape : image_cases())
    for (const DType image : {DType::bf16, DType::f32, DType::f16})
      for (const ConvolutionPass pass : {passes[0], passes[2]})
        for (const auto& [part, bad] : {std::pair{0.0, std::numeric_limits<double>::infinity()},
                                        std::pair{0.4, std::numeric_limits<double>::quiet_NaN()},
                                        std::pair{0.7, -std::numeric_limits<double>::infinity()},
                                        std::pair{1.0, std::numeric_limits<double>::infinity()}}) {
          Fixture fixture(shape, image, image);
          const auto place =
              static_cast<std::int64_t>(part * static_cast<double>(fixture.x().size() - 1));
          fixture.x().set(place, bad);
          const GuardedArray result = fixture.result(pass);
          const std::vector<double> expected = fixture.reference(pass);
          for (std::int64_t i = 0; i < result.size(); ++i)
            ASSERT_EQ(std::isfinite(result.at(i)),
                      std::isfinite(expected[static_cast<std::size_t>(i)]))
                << shape.name << ", " << name(image) << ", pass " << int(pass) << ", x[" << place
                << "], result " << i;
        }
}

TEST(batch_inner_convolution_reason, names_what_does_not_fit) {
  if (isa() != Isa::amx) {
    Fixture fixture(cases()[0]);
    EXPECT_NE(batch_inner_reason(fixture.convolution(passes[0]), isa()).find("amx"),
              std::string::npos);
    return;
  }
  const ConvolutionCase images{"", 31, 32, 32, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  const ConvolutionCase channels{"", 32, 48, 32, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  const ConvolutionCase groups{"", 32, 64, 64, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 2};
  for (const auto& [shape, word] : std::vector<std::pair<ConvolutionCase, std::string>>{
           {images, "32 images"}, {channels, "channels"}, {groups, "2 groups"}}) {
    const std::string reason = batch_inner_reason(Fixture(shape).convolution(passes[0]), isa());
    EXPECT_NE(reason.find(word), std::string::npos) << reason;
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::batch_inner_convolution_test
