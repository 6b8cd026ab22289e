// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "base/machine/cpu.h"
#include "base/machine/floating_environment.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/contraction/contraction.h"
#include "kernels/each_isa.h"

namespace narrowgauge::cpu::convolution_test {
namespace {

constexpr ConvolutionPass passes[] = {ConvolutionPass::forward, ConvolutionPass::data_gradient,
                                      ConvolutionPass::weight_gradient};

struct Setup {
  Layout x = Layout::channels_last, y = Layout::channels_last;
  DType dtype = DType::f32;
  ContractionOptions options = {};
};

class Fixture {
 public:
  Fixture(const ConvolutionCase& shape, const Setup& setup)
      : shape_(shape),
        setup_(setup),
        x_(setup.dtype, shape.x_dims(), setup.x),
        w_(setup.dtype, shape.w_dims()),
        y_(setup.dtype, shape.y_dims(), setup.y),
        bias_(setup.dtype == DType::f64 ? DType::f64 : DType::f32, {shape.outputs}) {
    x_.randomize(1);
    w_.randomize(2, 0.5);
    y_.randomize(3);
    bias_.randomize(4);
  }

  GuardedArray& output(ConvolutionPass pass) {
    return pass == ConvolutionPass::forward ? y_ : pass == ConvolutionPass::data_gradient ? x_ : w_;
  }

  Prepared prepare(ConvolutionPass pass) {
    ConvolutionViews views{x_.view(), w_.view(), y_.view(), {}};
    if (shape_.bias && pass == ConvolutionPass::forward) views.bias = bias_.view();
    return prepare_convolution(pass, views, shape_.window(), setup_.options);
  }

  // The result, and how many values became zero.
  std::pair<GuardedArray, std::int64_t> result(ConvolutionPass pass, const Prepared& prepared) {
    GuardedArray out = output(pass);
    std::vector<const GuardedArray*> inputs;
    if (pass != ConvolutionPass::data_gradient) inputs.push_back(&x_);
    if (pass != ConvolutionPass::weight_gradient) inputs.push_back(&w_);
    if (pass == ConvolutionPass::forward && shape_.bias) inputs.push_back(&bias_);
    if (pass != ConvolutionPass::forward) inputs.push_back(&y_);
    const std::int64_t flushed = run(prepared, inputs, {&out});
    return {out, flushed};
  }
  GuardedArray result(ConvolutionPass pass) { return result(pass, prepare(pass)).first; }

  std::vector<double> reference(ConvolutionPass pass) {
    const ConvolutionReference reference(shape_, x_, w_, y_);
    if (pass == ConvolutionPass::forward) return reference.forward(shape_.bias ? &bias_ : nullptr);
    return pass == ConvolutionPass::data_gradient ? reference.data_gradient()
                                                  : reference.weight_gradient();
  }

  std::string text(ConvolutionPass pass) {
    return concat(shape_.name, ", pass ", static_cast<int>(pass), ", ", setup_.dtype, ", layouts ",
                  static_cast<int>(setup_.x), " ", static_cast<int>(setup_.y), ", ",
                  prepare(pass).implementation);
  }

  void expect_passes_match() {
    for (const ConvolutionPass pass : passes)
      expect_within_format(result(pass), reference(pass), text(pass));
  }

  GuardedArray& x() { return x_; }
  GuardedArray& w() { return w_; }
  GuardedArray& y() { return y_; }

 private:
  const ConvolutionCase& shape_;
  Setup setup_;
  GuardedArray x_, w_, y_, bias_;
};

const ConvolutionCase& named(const std::string& name) {
  for (const ConvolutionCase& shape : convolution_cases())
    if (name == shape.name) return shape;
  throw UsageError("no case " + name);
}

TEST(convolution, every_shape_and_pass_matches_the_reference_in_every_format) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (const ConvolutionCase& shape : convolution_cases())
      Fixture(shape, {.dtype = dtype}).expect_passes_match();
}

TEST(convolution, every_layout_matches_the_reference) {
  const Layout layouts[] = {Layout::row_major, Layout::channels_last, Layout::channel_slice,
                            Layout::channel_slice_row_major};
  for (const char* name : {"resnet", "odd channels", "3-D", "first layer"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const Layout x : layouts)
        for (const Layout y : layouts)
          Fixture(named(name), {.x = x, .y = y, .dtype = dtype}).expect_passes_match();
}

TEST(convolution, widened_bf16_matches_the_reference) {
  for (const char* name : {"resnet", "3 odd groups", "1x1 stride 2"})
    Fixture(named(name), {.dtype = DType::bf16, .options = {.native_bf16 = false}})
        .expect_passes_match();
}

TEST(convolution, is_cut_into_shards_with_a_shorter_last_one) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(named("many images, some shards"), {.dtype = dtype});
      EXPECT_NE(fixture.prepare(pass).implementation.find("4 shards"), std::string::npos);
      expect_within_format(fixture.result(pass), fixture.reference(pass), fixture.text(pass));
    }
}

TEST(convolution, few_images_are_cut_in_rows_or_channels) {
  const std::pair<const char*, const char*> cases[] = {{"one image, rows", "4 shards"},
                                                       {"one image, rows of stride 2", "4 shards"},
                                                       {"two images, rows", "8 shards"},
                                                       {"one image, channels", "4 shards"}};
  for (const auto& [name, shards] : cases) {
    Fixture fixture(named(name), {});
    EXPECT_NE(fixture.prepare(ConvolutionPass::forward).implementation.find(shards),
              std::string::npos)
        << name << ": " << fixture.prepare(ConvolutionPass::forward).implementation;
  }
}

TEST(convolution, gives_the_same_bits_for_any_number_of_threads) {
  for (const char* name : {"many images, some shards", "resnet", "batch of 1", "depthwise",
                           "one image, rows", "two images, rows", "one image, channels"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const ConvolutionPass pass : passes) {
        std::vector<GuardedArray> results;
        for (const int threads : {1, 2, 3}) {
          Fixture fixture(named(name), {.dtype = dtype, .options = {.threads = threads}});
          results.push_back(fixture.result(pass));
        }
        EXPECT_TRUE(results[0].same_bytes(results[1]) && results[0].same_bytes(results[2]))
            << name << ' ' << narrowgauge::name(dtype) << ' ' << static_cast<int>(pass);
      }
}

TEST(convolution, gives_the_same_bits_from_operands_that_are_packed_ahead) {
  std::int64_t packed = 0;
  for (const ConvolutionCase& shape : convolution_cases())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const ConvolutionPass pass : passes) {
        Fixture plain(shape, {.dtype = dtype}),
            ahead(shape, {.dtype = dtype, .options = {.lasting = {0, 1, 2}}});
        packed += ahead.prepare(pass).packed.bytes;
        EXPECT_EQ(plain.prepare(pass).packed.bytes, 0);
        EXPECT_TRUE(ahead.result(pass).same_bytes(plain.result(pass))) << ahead.text(pass);
      }
  EXPECT_GT(packed, 0);
}

TEST(convolution, what_is_packed_is_equal_where_its_format_is) {
  const ConvolutionCase& shape = named("resnet");
  const auto packed_for = [&](std::int64_t images) {
    const View x = channels_last_view(DType::f32, {images, shape.x_dims()[1], 14, 14});
    const View w = dense_view(DType::f32, {64, x.dims[1], 1, 1});
    const View y = channels_last_view(DType::f32, {images, 64, 14, 14});
    const ConvolutionWindow window{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1};
    return prepare_convolution(ConvolutionPass::forward, {x, w, y, {}}, window, {.lasting = {1}})
        .packed;
  };
  const Packed first = packed_for(8), second = packed_for(9);
  ASSERT_GT(first.bytes, 0);
  EXPECT_EQ(first.inputs, std::vector<int>{1});
  EXPECT_EQ(first.format, second.format);
}

TEST(convolution, gives_the_same_bits_with_flush_to_zero_on_ordinary_values) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(named("many images, some shards"), {.dtype = dtype});
      const GuardedArray plain = fixture.result(pass);
      const FloatingEnvironment flush(Subnormals::flush);
      EXPECT_TRUE(fixture.result(pass).same_bytes(plain));
    }
}

TEST(convolution, narrows_subnormals_rightly_under_flush_to_zero_and_counts_what_becomes_zero) {
  const ConvolutionCase& shape = named("1x1 odd channels");
  Fixture fixture(shape, {.dtype = DType::f16});
  for (std::int64_t i = 0; i < fixture.x().size(); ++i)
    fixture.x().set(i, i % 36 < 12 ? 0x1p-24 : i % 36 < 24 ? 0x3p-18 : 1);
  for (std::int64_t i = 0; i < fixture.w().size(); ++i) fixture.w().set(i, i % 2 ? 0x1p-4 : 0);
  const std::vector<double> expected = fixture.reference(ConvolutionPass::forward);
  const FloatingEnvironment flush(Subnormals::flush);
  const auto [got, flushed] =
      fixture.result(ConvolutionPass::forward, fixture.prepare(ConvolutionPass::forward));
  std::int64_t zeros = 0, subnormal = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double exact = expected[static_cast<std::size_t>(i)];
    ASSERT_EQ(got.at(i), widen(narrow<f16>(exact))) << i;
    zeros += exact != 0 && got.at(i) == 0;
    subnormal += got.at(i) != 0 && got.at(i) < 0x1p-14;
  }
  EXPECT_EQ(flushed, zeros);
  EXPECT_GT(zeros, 0);
  EXPECT_GT(subnormal, 0);
}

// The outputs that a value takes part in are not finite, all others stay right.
TEST(convolution, non_finite_input_reaches_its_outputs_and_no_other) {
  for (const char* name : {"resnet", "odd channels", "1x1 odd channels", "stride 2", "depthwise",
                           "first layer", "1x1 with pads"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const double bad :
           {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        for (const ConvolutionPass pass : passes) {
          Fixture fixture(named(name), {.dtype = dtype});
          GuardedArray& in = pass == ConvolutionPass::data_gradient ? fixture.y() : fixture.x();
          const Dims& dims = in.view().dims;
          in.set(in.size() / 2 + in.size() / (dims[0] * dims[1]) / 2, bad);
          const std::vector<double> expected = fixture.reference(pass);
          const GuardedArray got = fixture.result(pass);
          std::int64_t reached = 0;
          for (std::int64_t i = 0; i < got.size(); ++i) {
            const bool finite = std::isfinite(expected[static_cast<std::size_t>(i)]);
            reached += !finite;
            ASSERT_EQ(std::isfinite(got.at(i)), finite) << fixture.text(pass) << " element " << i;
          }
          EXPECT_GT(reached, 0) << fixture.text(pass);
        }
}

TEST(convolution, mixed_formats_compute_from_what_is_stored) {
  const ConvolutionCase& shape = named("resnet");
  for (const DType inputs : {DType::f16, DType::bf16})
    for (const DType result : {DType::f32, DType::f16, DType::bf16}) {
      GuardedArray x(inputs, shape.x_dims()), w(inputs, shape.w_dims()), y(result, shape.y_dims());
      x.randomize(1), w.randomize(2), y.randomize(3);
      const ConvolutionReference reference(shape, x, w, y);
      const Prepared forward = prepare_convolution(
          ConvolutionPass::forward, {x.view(), w.view(), y.view(), {}}, shape.window(), {});
      run(forward, {&x, &w}, {&y});
      expect_within_format(y, reference.forward(nullptr), forward.implementation);
      GuardedArray dw(DType::f32, shape.w_dims()), dy(inputs, shape.y_dims());
      dy.randomize(5);
      const Prepared gradient =
          prepare_convolution(ConvolutionPass::weight_gradient,
                              {x.view(), dw.view(), dy.view(), {}}, shape.window(), {});
      run(gradient, {&x, &dy}, {&dw});
      expect_within_format(dw, ConvolutionReference(shape, x, dw, dy).weight_gradient(),
                           gradient.implementation);
    }
}

TEST(convolution, bf16_uses_amx_where_there_is_amx) {
  if (isa() < Isa::amx) GTEST_SKIP() << "no AMX here";
  for (const ConvolutionPass pass : passes) {
    Fixture fixture(named("resnet"), {.dtype = DType::bf16});
    EXPECT_NE(fixture.prepare(pass).implementation.find("amx"), std::string::npos);
  }
}

TEST(convolution, obeys_the_cap_of_the_instruction_set) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const ConvolutionPass pass : passes) {
      Fixture fixture(named("resnet"), {.dtype = dtype});
      const std::string text = fixture.prepare(pass).implementation;
      EXPECT_TRUE(isa() >= Isa::avx512 || text.find("avx512") == std::string::npos) << text;
      EXPECT_TRUE(isa() >= Isa::amx || text.find("amx") == std::string::npos) << text;
    }
}

TEST(convolution, no_shape_falls_to_the_reference_kernel) {
  for (const ConvolutionCase& shape : convolution_cases())
    for (const ConvolutionPass pass : passes)
      for (const DType dtype : {DType::f32, DType::f16}) {
        Fixture fixture(shape, {.dtype = dtype});
        EXPECT_EQ(fixture.prepare(pass).implementation.find("ref"), std::string::npos)
            << fixture.text(pass);
      }
}

TEST(convolution, empty_batch_gives_zero_weight_gradient_and_bias_for_no_channels) {
  GuardedArray x(DType::f32, {0, 4, 5, 5}), y(DType::f32, {0, 4, 5, 5}),
      dw(DType::f16, {4, 4, 1, 1});
  const ConvolutionWindow window{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1};
  run(prepare_convolution(ConvolutionPass::weight_gradient, {x.view(), dw.view(), y.view(), {}},
                          window, {}),
      {&x, &y}, {&dw});
  for (std::int64_t i = 0; i < dw.size(); ++i) EXPECT_EQ(dw.at(i), 0);
  GuardedArray none(DType::f32, {2, 0, 5, 5}), w(DType::f32, {4, 0, 1, 1}),
      out(DType::f32, {2, 4, 5, 5});
  GuardedArray bias(DType::f32, {4});
  bias.randomize(1);
  run(prepare_convolution(ConvolutionPass::forward,
                          {none.view(), w.view(), out.view(), bias.view()}, window, {}),
      {&none, &w, &bias}, {&out});
  for (std::int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.at(i), bias.at(i / 25 % 4));
}

TEST(convolution, refuses_shapes_and_formats_that_do_not_fit) {
  const ConvolutionWindow window{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1};
  const View x = dense_view(DType::f32, {2, 4, 5, 5}), w = dense_view(DType::f32, {8, 4, 3, 3});
  const auto attempt = [&](const View& y, const ConvolutionWindow& how) {
    return prepare_convolution(ConvolutionPass::forward, {x, w, y, {}}, how, {});
  };
  EXPECT_NO_THROW(attempt(dense_view(DType::f32, {2, 8, 3, 3}), window));
  EXPECT_THROW(attempt(dense_view(DType::f32, {2, 8, 4, 3}), window), UsageError);
  EXPECT_THROW(attempt(dense_view(DType::f32, {2, 7, 3, 3}), window), UsageError);
  EXPECT_THROW(attempt(dense_view(DType::f64, {2, 8, 3, 3}), window), UsageError);
  EXPECT_THROW(attempt(dense_view(DType::i32, {2, 8, 3, 3}), window), UsageError);
  ConvolutionWindow grouped = window;
  grouped.groups = 2;
  EXPECT_THROW(attempt(dense_view(DType::f32, {2, 8, 3, 3}), grouped), UsageError);
}

TEST(convolution, tests_pass_under_each_cap_of_the_instruction_set) {
  expect_tests_pass_under_each_isa("convolution.*-*under_each_cap*:*every_layout*");
}

}  // namespace
}  // namespace narrowgauge::cpu::convolution_test
