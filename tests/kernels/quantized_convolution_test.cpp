// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions against sums of integers in plain loops, and their epilogue in double: our
// own kernels, and oneDNN's where no sum of two products leaves 16 bits.
#include "kernels/cpu/bytes/quantized_convolution.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <random>

#include "kernels/convolution_case.h"
#include "kernels/cpu/bytes/quantized_tiles.h"
#include "kernels/cpu/bytes/woven_depthwise.h"
#include "kernels/cpu/images/quantized_image.h"
#include "kernels/cpu/onednn/quantized.h"
#include "kernels/each_isa.h"
#include "kernels/needs_tiles.h"

namespace narrowgauge::cpu::quantized_convolution_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// How values are stored, and which of them there are.
struct Form {
  DType x = DType::u8, w = DType::i8, y = DType::u8;
  std::optional<DType> residual = {};
  bool each_channel = true, w_zeros = false, bias = true, together = true, packed = true;
  bool plain_x = false;
  double low = -infinity, high = infinity;
  int least = -128, most = 127;  // weights
  bool numbers_last = false;
  bool outliers = false;  // some neighbours among the weights are 127 and -128
  bool gelu = false;
};

std::string text(const ConvolutionCase& c, const Form& form) {
  return concat(c.name, ' ', form.x, form.w, form.y, ' ', form.residual.value_or(DType::boolean),
                form.each_channel ? " channels" : "", form.w_zeros ? " zeros" : "",
                form.together ? "" : " plain", form.packed ? " packed" : "",
                form.gelu ? " gelu" : "");
}

GuardedArray random_array(DType dtype, const Dims& dims, bool together, std::mt19937& random,
                          int least, int most) {
  GuardedArray array(dtype, dims, together ? Layout::channels_last : Layout::row_major);
  std::uniform_int_distribution<int> all(least, most);
  for (std::int64_t i = 0; i < array.size(); ++i)
    array.set(i, dtype == DType::f32 ? all(random) / 64.0 : all(random));
  return array;
}

GuardedArray bytes_array(DType dtype, const Dims& dims, bool together, std::mt19937& random) {
  const int least = dtype == DType::u8 ? 0 : -128;
  return random_array(dtype, dims, together, random, least, least + 255);
}

GuardedArray scales(std::int64_t count, double size, std::mt19937& random) {
  GuardedArray array(DType::f32, {count});
  std::uniform_real_distribution<float> all(0.5F, 1.5F);
  for (std::int64_t i = 0; i < count; ++i) array.set(i, double{all(random)} * size);
  return array;
}

// All that a kernel reads and what it should write.
class Trial {
 public:
  Trial(const ConvolutionCase& c, const Form& form)
      : c_(c), form_(form), random_(7), y_(result()), window_(c.window()) {
    const std::int64_t lines = form.each_channel ? c.outputs : 1;
    give(quantized_x, bytes_array(form.x, c.x_dims(), form.together && !form.plain_x, random_));
    give(quantized_w,
         random_array(form.w, c.w_dims(), false, random_, form.w == DType::u8 ? 0 : form.least,
                      form.w == DType::u8 ? 255 : form.most));
    if (form.outliers) give_outliers();
    give(quantized_x_scale, scales(1, 0.02, random_));
    give(quantized_x_zero, bytes_array(form.x, {1}, false, random_));
    give(quantized_w_scale, scales(lines, 0.01, random_));
    if (form.w_zeros) give(quantized_w_zero, bytes_array(form.w, {lines}, false, random_));
    if (form.bias)
      give(quantized_bias, random_array(DType::f32, {c.outputs}, false, random_, -99, 99));
    if (form.residual) give_residual();
    sums_ = exact_sums();
    if (is_floating(form.y)) return;
    give(quantized_y_scale, scales(1, 0.2, random_));
    give(quantized_y_zero, bytes_array(form.y, {1}, false, random_));
  }

  QuantizedViews views() const {
    QuantizedViews views{at(quantized_x).view(), at(quantized_w).view(), y_.view(), {},
                         form_.packed,           form_.numbers_last};
    if (form_.residual) views.residual = at(quantized_residual).view();
    return views;
  }
  QuantizedNumbers numbers() const {
    const auto of = [&](int input) -> Int8Numbers {
      if (!given_[static_cast<std::size_t>(input)]) return {};
      return {at(input).view().dtype, at(input).size(), input};
    };
    return {of(quantized_x_scale),
            of(quantized_x_zero),
            of(quantized_w_scale),
            of(quantized_w_zero),
            of(quantized_bias),
            of(quantized_residual_scale),
            of(quantized_residual_zero),
            of(quantized_y_scale),
            of(quantized_y_zero),
            form_.low,
            form_.high,
            form_.gelu};
  }
  const ConvolutionWindow& window() const { return window_; }
  std::int32_t x_zero() const { return static_cast<std::int32_t>(at(quantized_x_zero).at(0)); }

  // A residual that lies as y does may be in its place.
  void check(const Prepared& prepared) {
    check(prepared, false);
    if (form_.residual && bits(*form_.residual) == bits(form_.y)) check(prepared, true);
  }

 private:
  void check(const Prepared& prepared, bool in_place) {
    run(prepared, in_place);
    EXPECT_TRUE(y_.guards_intact()) << text(c_, form_);
    for (std::int64_t i = 0; i < y_.size(); ++i) {
      const double exact = expected(i);
      if (is_floating(form_.y))
        ASSERT_NEAR(y_.at(i), exact, error_of(form_.y, exact)) << text(c_, form_) << ' ' << i;
      else
        ASSERT_LE(distance(y_.at(i), exact), form_.gelu ? 0.51 : 0.501)
            << text(c_, form_) << ' ' << i;
    }
  }

  GuardedArray result() const {
    return {form_.y, c_.y_dims(), form_.together ? Layout::channels_last : Layout::row_major};
  }
  void give(int input, GuardedArray array) {
    given_[static_cast<std::size_t>(input)] = std::make_unique<GuardedArray>(std::move(array));
  }
  void give_outliers() {
    GuardedArray& w = *given_[quantized_w];
    for (std::int64_t i = 0; i + 2 < w.size(); i += 101)
      for (std::int64_t j = 0; j < 3; ++j) w.set(i + j, i % 2 == 0 ? 127 : -128);
  }
  void give_residual() {
    if (*form_.residual == DType::f32) {
      give(quantized_residual,
           random_array(DType::f32, c_.y_dims(), form_.together, random_, -200, 200));
      return;
    }
    give(quantized_residual, bytes_array(*form_.residual, c_.y_dims(), form_.together, random_));
    give(quantized_residual_scale, scales(1, 0.05, random_));
    give(quantized_residual_zero, bytes_array(*form_.residual, {1}, false, random_));
  }
  const GuardedArray& at(int input) const { return *given_[static_cast<std::size_t>(input)]; }
  double number(int input, std::int64_t i, double missing) const {
    if (!given_[static_cast<std::size_t>(input)]) return missing;
    return at(input).at(at(input).size() > 1 ? i : 0);
  }

  void run(const Prepared& prepared, bool in_place) {
    std::array<const void*, quantized_inputs> inputs{};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = given_[i] ? given_[i]->data() : nullptr;
    std::vector<std::byte> packed(static_cast<std::size_t>(prepared.packed.bytes + 64));
    std::vector<std::byte> workspace(static_cast<std::size_t>(prepared.workspace + 64));
    const auto aligned = [](std::vector<std::byte>& bytes) {
      const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
      return bytes.data() + (64 - address % 64) % 64;
    };
    if (in_place) {
      const auto bytes = bytes_for(y_.size(), form_.y);
      std::memcpy(y_.data(), inputs[quantized_residual], static_cast<std::size_t>(bytes));
      inputs[quantized_residual] = y_.data();
    }
    if (prepared.packed.bytes > 0) prepared.packed.run(inputs.data(), aligned(packed));
    void* const y = y_.data();
    prepared.run({inputs.data(), &y, aligned(workspace), nullptr,
                  prepared.packed.bytes > 0 ? aligned(packed) : nullptr});
  }

  static double error_of(DType y, double exact) {
    const double sums = 1e-5 * (1 + std::abs(exact));
    return y == DType::bf16 ? sums + 0x1p-8 * std::abs(exact) : sums;
  }

  // What is expected in steps of y before it is rounded, or the floating result.
  double expected(std::int64_t i) const {
    const std::int64_t places = y_.size() / (c_.batch * c_.outputs);
    const std::int64_t channel = i / places % c_.outputs;
    const double step = number(quantized_y_scale, 0, 1);
    double y = sums_[static_cast<std::size_t>(i)] * number(quantized_x_scale, 0, 1) *
               number(quantized_w_scale, channel, 1);
    y += number(quantized_bias, channel, 0);
    if (form_.residual)
      y += (at(quantized_residual).at(i) - number(quantized_residual_zero, 0, 0)) *
           number(quantized_residual_scale, 0, 1);
    if (form_.gelu) y *= std::erfc(-y / std::numbers::sqrt2) / 2;
    return std::min(std::max(y, form_.low), form_.high) / step;
  }

  // How far a byte is from the number that it stands for, where that is in reach.
  double distance(double byte, double exact) const {
    const double zero = number(quantized_y_zero, 0, 0);
    const double least = form_.y == DType::u8 ? 0 : -128;
    return std::abs(byte - std::clamp(exact + zero, least, least + 255));
  }

  // The sums of x and w less their zero points.
  std::vector<double> exact_sums() const {
    GuardedArray x(DType::f64, c_.x_dims()), w(DType::f64, c_.w_dims()), y(DType::f64, c_.y_dims());
    const std::int64_t taps = w.size() / c_.outputs;
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.set(i, at(quantized_x).at(i) - number(quantized_x_zero, 0, 0));
    for (std::int64_t i = 0; i < w.size(); ++i)
      w.set(i, at(quantized_w).at(i) - number(quantized_w_zero, i / taps, 0));
    return ConvolutionReference(c_, x, w, y).forward(nullptr);
  }

  const ConvolutionCase& c_;
  Form form_;
  std::mt19937 random_;
  std::array<std::unique_ptr<GuardedArray>, quantized_inputs> given_;
  GuardedArray y_;
  ConvolutionWindow window_;
  std::vector<double> sums_;
};

std::vector<Form> forms() {
  return {
      {},
      {.residual = DType::u8, .low = 0},
      {.x = DType::i8, .y = DType::i8, .residual = DType::i8, .each_channel = false, .high = 2},
      {.y = DType::f32, .residual = DType::f32, .bias = false, .low = -1, .high = 3},
      {.w = DType::u8, .w_zeros = true, .packed = false},
      {.x = DType::i8, .w_zeros = true, .together = false},
      {.y = DType::f32, .residual = DType::u8, .together = false, .packed = false},
      {.x = DType::i8, .y = DType::i8, .residual = DType::f32, .least = -64, .most = 64},
      {.y = DType::f32, .least = -20, .most = 20, .outliers = true},
      {.x = DType::i8, .y = DType::bf16},
      {.y = DType::bf16, .w_zeros = true, .low = -1, .high = 3},
      {.gelu = true},
      {.x = DType::i8, .y = DType::i8, .each_channel = false, .packed = false, .gelu = true},
  };
}

// The forms for kernels that only take some.
std::vector<Form> forms_without_residuals() {
  return {
      {},
      {.x = DType::i8, .y = DType::i8, .low = -3},
      {.y = DType::i8, .each_channel = false, .bias = false, .packed = false, .low = 0, .high = 6}};
}

// Several parts of an image, several images in a part, and weights of more bytes than stay near.
const std::vector<ConvolutionCase>& larger_cases() {
  static const std::vector<ConvolutionCase> cases = {
      {"parts of an image", 2, 64, 40, {33, 30}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"parts with a stride", 1, 48, 96, {41, 27}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"small images", 19, 130, 70, {5, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"pixels", 3, 100, 50, {19, 13}, {1, 1}},
      {"pixels with a stride", 3, 100, 50, {39, 40}, {1, 1}, {2, 3}},
      {"whole pixels with a stride", 2, 64, 66, {33, 30}, {1, 1}, {2, 2}},
      {"many panels", 1, 1040, 320, {5, 5}, {1, 1}},
      {"panels in several runs", 1, 1700, 640, {9, 5}, {1, 1}},
      {"lines in pairs", 5, 64, 80, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"three lines woven, stride 2", 3, 3, 66, {37, 31}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 2}},
      {"two lines woven", 2, 4, 40, {9, 150}, {4, 6}, {1, 3}, {}, {2, 1}, {0, 4}, 1, true},
      {"four lines woven", 2, 1, 33, {20, 23}, {4, 5}, {3, 1}, {}, {1, 2}, {2, 1}},
      {"lines of whole fours, stride 2", 2, 36, 48, {11, 39}, {1, 2}, {2, 2}},
  };
  return cases;
}

TEST(quantized_convolution, stores_the_nearest_step_of_exact_sums) {
  bool numbers_last = false;
  for (const auto* cases : {&convolution_cases(), &larger_cases()})
    for (const ConvolutionCase& c : *cases)
      for (Form form : forms()) {
        form.numbers_last = numbers_last = !numbers_last;
        Trial trial(c, form);
        for (const int threads : {1, 2})
          trial.check(prepare_quantized_convolution(trial.views(), trial.window(), trial.numbers(),
                                                    threads));
      }
}

TEST(quantized_convolution, woven_lines_make_the_same_steps) {
  int taken = 0;
  std::vector<ConvolutionCase> cases = convolution_cases();
  cases.insert(cases.end(), depthwise_cases().begin(), depthwise_cases().end());
  for (const ConvolutionCase& c : cases)
    for (const Form& form : forms_without_residuals()) {
      Trial trial(c, form);
      if (!woven_depthwise_reason(trial.views(), trial.window(), trial.numbers(), isa()).empty())
        continue;
      ++taken;
      for (const int threads : {1, 2, 3})
        trial.check(
            prepare_woven_depthwise(trial.views(), trial.window(), trial.numbers(), threads));
    }
  if (isa() < Isa::vnni) GTEST_SKIP() << "needs vnni, this is " << name(isa());
  EXPECT_GE(taken, 20);
}

TEST(quantized_convolution, plain_images_make_the_same_steps) {
  int taken = 0;
  std::vector<ConvolutionCase> cases = convolution_cases();
  cases.insert(cases.end(), image_cases().begin(), image_cases().end());
  for (const ConvolutionCase& c : cases)
    for (Form form : forms_without_residuals()) {
      form.plain_x = true;
      Trial trial(c, form);
      if (!quantized_image_reason(trial.views(), trial.window(), trial.numbers(), isa()).empty())
        continue;
      ++taken;
      for (const int threads : {1, 3})
        trial.check(
            prepare_quantized_image(trial.views(), trial.window(), trial.numbers(), threads));
    }
  if (isa() < Isa::vnni) GTEST_SKIP() << "needs vnni, this is " << name(isa());
  EXPECT_GE(taken, 20);
}

// Weights of 7 bits, whose pairs of products fit into 16 bits where oneDNN has no VNNI.
TEST(quantized_convolution, onednn_makes_the_same_sums) {
  for (const ConvolutionCase& c : convolution_cases())
    for (Form form : forms()) {
      if (form.w != DType::i8 || form.w_zeros || !form.together || !form.packed || form.outliers)
        continue;
      form.least = -64;
      form.most = 63;
      Trial trial(c, form);
      for (const auto x_zero : {std::optional<std::int32_t>(), std::optional(trial.x_zero())})
        trial.check(
            prepare_onednn_quantized(trial.views(), trial.window(), trial.numbers(), x_zero, 2));
    }
}

bool tiles_take(const ConvolutionCase& c, const Form& form) {
  return form.w == DType::i8 && !form.w_zeros && form.together && form.packed && c.groups == 1 &&
         c.size.size() < 3;
}

TEST(quantized_convolution, tiles_make_the_same_sums) {
  NG_NEEDS_TILES();
  bool numbers_last = false;
  for (const auto* cases : {&convolution_cases(), &larger_cases()})
    for (const ConvolutionCase& c : *cases)
      for (Form form : forms()) {
        if (!tiles_take(c, form)) continue;
        form.numbers_last = numbers_last = !numbers_last;
        Trial trial(c, form);
        for (const int threads : {1, 2})
          trial.check(
              prepare_quantized_tiles(trial.views(), trial.window(), trial.numbers(), threads));
      }
}

// Large tasks, as one thread takes them.
TEST(quantized_convolution, panels_read_tiles_that_the_first_one_stores_and_take_chunks_of_steps) {
  NG_NEEDS_TILES();
  const ConvolutionCase all[] = {{"stored tiles", 1, 768, 544, {17, 15}, {1, 1}},
                                 {"stored tiles in chunks", 1, 3840, 512, {17, 16}, {1, 1}}};
  for (const ConvolutionCase& c : all) {
    Trial trial(c, {.residual = DType::u8});
    trial.check(prepare_quantized_tiles(trial.views(), trial.window(), trial.numbers(), 1));
  }
}

TEST(quantized_convolution, tiles_say_what_they_do_not_take) {
  const auto reason = [](const ConvolutionCase& c, const Form& form, Isa isa = Isa::amx) {
    const Trial trial(c, form);
    return quantized_tiles_reason(trial.views(), trial.window(), trial.numbers(), isa);
  };
  const auto named = [](std::string_view name) -> const ConvolutionCase& {
    return *std::ranges::find(convolution_cases(), name, &ConvolutionCase::name);
  };
  const ConvolutionCase& c = convolution_cases()[0];
  EXPECT_EQ(reason(c, {}), "");
  EXPECT_EQ(reason(c, {}, Isa::vnni), "tiles need amx, this is vnni");
  EXPECT_EQ(reason(c, {.w = DType::u8}), "weights of u8");
  EXPECT_EQ(reason(c, {.w_zeros = true}), "weights with a zero point");
  EXPECT_EQ(reason(c, {.packed = false}), "weights that may change");
  EXPECT_EQ(reason(c, {.together = false}), "channels that lie apart");
  EXPECT_EQ(reason(named("4 groups"), {}), "groups of channels");
  EXPECT_EQ(reason(named("3-D"), {}), "three spatial axes");
}

TEST(quantized_convolution, onednn_says_what_it_does_not_take) {
  const ConvolutionCase& c = convolution_cases()[0];
  const auto reason = [&](const Form& form) {
    const Trial trial(c, form);
    return onednn_quantized_reason(trial.views(), trial.numbers());
  };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({.w = DType::u8}), "weights of u8");
  EXPECT_EQ(reason({.w_zeros = true}), "weights with a zero point");
  EXPECT_EQ(reason({.packed = false}), "weights that may change");
  EXPECT_EQ(reason({.together = false}), "channels that lie apart");
}

TEST(quantized_convolution, equal_on_every_isa) {
  expect_tests_pass_under_each_isa("quantized_convolution.stores*", {Isa::avx2, Isa::vnni});
}

}  // namespace
}  // namespace narrowgauge::cpu::quantized_convolution_test
