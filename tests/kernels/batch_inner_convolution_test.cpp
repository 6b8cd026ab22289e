// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner_convolution.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/cpu.h"
#include "base/parallel.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/image_convolution.h"

namespace narrowgauge::cpu {
namespace {

constexpr ConvolutionPass passes[] = {ConvolutionPass::forward, ConvolutionPass::data_gradient,
                                      ConvolutionPass::weight_gradient};

// Images as [N/32][y][x][C/32][32][32], between guards.
class Blocks {
 public:
  explicit Blocks(const Dims& dims)
      : dims_(dims),
        storage_({DType::bf16, {element_count(dims) + 64}, {1}}, element_count(dims) + 64) {}

  void take(const Array& images) {
    for (std::int64_t i = 0; i < images.size(); ++i) storage_.set(place(i), images.at(i));
  }
  void give(Array& images) const {
    for (std::int64_t i = 0; i < images.size(); ++i) images.set(i, storage_.at(place(i)));
  }
  void* data() { return at_offset(aligned(), DType::bf16, 0); }

 private:
  std::int64_t place(std::int64_t flat) const {
    const std::int64_t x = flat % dims_[3], y = flat / dims_[3] % dims_[2];
    const std::int64_t c = flat / dims_[3] / dims_[2] % dims_[1];
    const std::int64_t n = flat / dims_[3] / dims_[2] / dims_[1];
    const std::int64_t pixel = (n / 32 * dims_[2] + y) * dims_[3] + x;
    return skipped() + ((pixel * (dims_[1] / 32) + c / 32) * 32 + n % 32) * 32 + c % 32;
  }
  // Elements up to the first multiple of 64 bytes.
  std::int64_t skipped() const {
    return static_cast<std::int64_t>((64 - reinterpret_cast<std::uintptr_t>(storage_.data()) % 64) %
                                     64 / 2);
  }
  void* aligned() { return at_offset(storage_.data(), DType::bf16, skipped()); }

  Dims dims_;
  Array storage_;
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

// Of plain images.
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
  explicit Fixture(const ConvolutionCase& shape, DType weight_gradient = DType::bf16)
      : shape_(shape),
        x_(DType::bf16, shape.x_dims()),
        w_(DType::bf16, shape.w_dims()),
        y_(DType::bf16, shape.y_dims()),
        dw_(weight_gradient, shape.w_dims()),
        bias_(DType::f32, {shape.outputs}) {
    x_.randomize(1);
    w_.randomize(2, 0.5);
    y_.randomize(3);
    bias_.randomize(4);
  }
  Array& x() { return x_; }
  Array& y() { return y_; }

  BatchInnerConvolution convolution(ConvolutionPass pass) const {
    const bool backward = pass == ConvolutionPass::weight_gradient;
    BatchInnerConvolution c{pass,
                            shape_.x_dims(),
                            shape_.w_dims(),
                            shape_.y_dims(),
                            shape_.window(),
                            backward ? dw_.view().dtype : DType::bf16,
                            {}};
    if (shape_.bias && pass == ConvolutionPass::forward) c.bias = DType::f32;
    return c;
  }

  Array result(ConvolutionPass pass) {
    const bool plain_images = shape_.channels % 32 != 0;
    const Prepared prepared = plain_images ? prepare_image_convolution(convolution(pass))
                                           : prepare_batch_inner_convolution(convolution(pass));
    Blocks x(plain_images ? Dims{32, 32, 1, 1} : shape_.x_dims()), y(shape_.y_dims());
    if (!plain_images) x.take(x_);
    y.take(y_);
    Array out = pass == ConvolutionPass::forward ? y_ : pass == passes[1] ? x_ : dw_;
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
    prepared.run({inputs.data(), &target, memory.data() + skipped, nullptr});
    for (std::size_t i = static_cast<std::size_t>(prepared.workspace); i < memory.size() - skipped;
         ++i)
      EXPECT_EQ(memory[skipped + i], 0xff) << "the workspace is longer than promised";
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
  Array x_, w_, y_, dw_, bias_;
};

class BatchInnerConvolutionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (isa() != Isa::amx) GTEST_SKIP() << "needs amx, this is " << name(isa());
  }
};

TEST_F(BatchInnerConvolutionTest, EveryPassIsExactProductsAddedInF32AndRoundedOnce) {
  for (const ConvolutionCase& shape : cases())
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(shape);
      expect_within_format(fixture.result(pass), fixture.reference(pass),
                           concat(shape.name, ", pass ", static_cast<int>(pass)));
    }
}

TEST_F(BatchInnerConvolutionTest, PlainImagesAreConvolvedIntoBlocks) {
  for (const ConvolutionCase& shape : image_cases())
    for (const ConvolutionPass pass : {passes[0], passes[2]}) {
      Fixture fixture(shape, DType::f32);
      const Array result = fixture.result(pass);
      expect_within_format(result, fixture.reference(pass),
                           concat(shape.name, ", pass ", static_cast<int>(pass)));
      const ThreadScope one(1);
      EXPECT_TRUE(fixture.result(pass).same_bytes(result)) << shape.name;
    }
}

TEST_F(BatchInnerConvolutionTest, WeightGradientIsStoredInF32WhereThatIsAskedFor) {
  for (const std::size_t index : {std::size_t{0}, std::size_t{2}, cases().size() - 1}) {
    Fixture fixture(cases()[index], DType::f32);
    expect_within_format(fixture.result(passes[2]), fixture.reference(passes[2]),
                         cases()[index].name);
  }
}

TEST_F(BatchInnerConvolutionTest, BitsDoNotDependOnThreads) {
  for (const ConvolutionCase& shape : cases())
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(shape, DType::f32);
      const Array many = fixture.result(pass);
      const ThreadScope one(1);
      EXPECT_TRUE(fixture.result(pass).same_bytes(many)) << shape.name;
    }
}

TEST_F(BatchInnerConvolutionTest, WhatANanOrInfinityReachesIsNotFinite) {
  const ConvolutionCase shape{"3x3", 32, 64, 32, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(shape);
      fixture.x().set(777, bad);
      fixture.y().set(333, bad);
      const Array result = fixture.result(pass);
      const std::vector<double> expected = fixture.reference(pass);
      for (std::int64_t i = 0; i < result.size(); ++i)
        EXPECT_EQ(std::isfinite(result.at(i)),
                  std::isfinite(expected[static_cast<std::size_t>(i)]));
    }
}

TEST(BatchInnerConvolutionReason, NamesWhatDoesNotFit) {
  if (isa() != Isa::amx) {
    Fixture fixture(cases()[0]);
    EXPECT_NE(batch_inner_reason(fixture.convolution(passes[0])).find("amx"), std::string::npos);
    return;
  }
  const ConvolutionCase images{"", 31, 32, 32, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  const ConvolutionCase channels{"", 32, 48, 32, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  const ConvolutionCase groups{"", 32, 64, 64, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 2};
  for (const auto& [shape, word] : std::vector<std::pair<ConvolutionCase, std::string>>{
           {images, "32 images"}, {channels, "channels"}, {groups, "2 groups"}}) {
    const std::string reason = batch_inner_reason(Fixture(shape).convolution(passes[0]));
    EXPECT_NE(reason.find(word), std::string::npos) << reason;
  }
}

}  // namespace
}  // namespace narrowgauge::cpu
