// SPDX-License-Identifier: Apache-2.0
// Contractions on simulated matrix units, element by element against the scalar model: operands
// picked and put in order here, from the definitions of the ops.
#include "ops/simulated/simulated.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "narrowgauge/block_format.h"
#include "narrowgauge/matrix_unit_arithmetic.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"
#include "ops/nn/conv.h"
#include "ops/sample_run.h"
#include "ops/simulated/unit_choice.h"

namespace narrowgauge::simulated_test {
namespace {

// The f32 or f64 behind a value, rounded to a format: its bits there.
std::uint64_t bits_in(UnitFormat format, double value) {
  const auto through = [&](DType dtype) {
    Tensor one(dtype, {1});
    one.set(0, value);
    std::uint64_t bits = 0;
    std::memcpy(&bits, one.data(), static_cast<std::size_t>(one.bytes()));
    return bits;
  };
  switch (format) {
    case UnitFormat::f16:
      return through(DType::f16);
    case UnitFormat::bf16:
      return through(DType::bf16);
    case UnitFormat::f8e4m3:
      return through(DType::f8e4m3fn);
    case UnitFormat::f64:
      return through(DType::f64);
    case UnitFormat::tf32: {
      int exponent = 0;
      const double fraction = std::frexp(value, &exponent);
      value = std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
      return through(DType::f32);
    }
    default:
      return through(DType::f32);
  }
}

// One element: pairs of factors in the order of k.
class Sum {
 public:
  explicit Sum(const UnitModel& model) : model_(model) {}
  void add(double a, double b) {
    a_.push_back(unpack(model_.operand, bits_in(model_.operand, a)));
    b_.push_back(unpack(model_.operand, bits_in(model_.operand, b)));
  }
  double value() const {
    const std::uint64_t bits = dot_product_add(model_, a_, b_, 0);
    if (model_.result == UnitFormat::f64) return std::bit_cast<double>(bits);
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }

 private:
  const UnitModel& model_;
  std::vector<Unpacked> a_, b_;
};

struct Mode {
  const char* math;
  DType dtype;
};
constexpr Mode modes[] = {
    {"sim:a100", DType::f32},          {"sim:h100:f16", DType::f32},  {"sim:v100", DType::f32},
    {"sim:a100", DType::f16},          {"sim:h100", DType::bf16},     {"sim:amx", DType::bf16},
    {"sim:ieee-pairwise", DType::f32}, {"sim:b200:tf32", DType::f16}, {"sim:a100", DType::f64}};

Tensor noise(DType dtype, const Dims& dims, int seed) {
  Tensor tensor(dtype, dims);
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, normal(engine));
  return tensor;
}

// As stored in the dtype of the result.
double stored(DType dtype, double value) {
  Tensor one(dtype, {1});
  one.set(0, value);
  return one.at(0);
}

void expect_bits(const KernelResult& got, const std::vector<double>& expected, const Mode& mode,
                 const std::string& what) {
  ASSERT_EQ(got.outputs[0].size(), static_cast<std::int64_t>(expected.size())) << what;
  EXPECT_TRUE(got.implementation.starts_with("simulated ")) << got.implementation;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(got.outputs[0].at(static_cast<std::int64_t>(i)), stored(mode.dtype, expected[i]))
        << what << ' ' << mode.math << " of " << name(mode.dtype) << " at " << i;
}

// [batch, M, K] times [K, N], either operand's last axes exchanged.
void check_product(const Mode& mode, bool transpose_a, bool transpose_b) {
  constexpr std::int64_t batch = 2, rows = 5, columns = 19, depth = 37;
  const Tensor a =
      noise(mode.dtype, transpose_a ? Dims{batch, depth, rows} : Dims{batch, rows, depth}, 1);
  const Tensor b = noise(mode.dtype, transpose_b ? Dims{columns, depth} : Dims{depth, columns}, 2);
  const Math math = parse_math(mode.math);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < batch * rows; ++i)
    for (std::int64_t n = 0; n < columns; ++n) {
      Sum sum(unit_model(math, mode.dtype));
      for (std::int64_t k = 0; k < depth; ++k)
        sum.add(a.at(transpose_a ? (i / rows * depth + k) * rows + i % rows : i * depth + k),
                b.at(transpose_b ? n * depth + k : k * columns + n));
      expected.push_back(sum.value());
    }
  expect_bits(run_kernel(FusedMatMul{transpose_a, transpose_b}, {a, b}, {.math = math}), expected,
              mode, "FusedMatMul");
  if (!transpose_a && !transpose_b)
    expect_bits(run_kernel(MatMul{}, {a, b}, {.math = math}), expected, mode, "MatMul");
}

TEST(simulated, products_are_the_units_in_the_order_of_k) {
  for (const Mode& mode : modes)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) check_product(mode, transpose_a, transpose_b);
}

// More rows than are made at once; their last block is a part of one.
TEST(simulated, long_operands_are_made_in_blocks) {
  const Math math = parse_math("sim:a100");
  const Tensor a = noise(DType::f16, {150, 20000}, 3), b = noise(DType::f16, {20000, 1}, 4);
  const Tensor got = run_kernel(MatMul{}, {a, b}, {.math = math}).outputs[0];
  for (const std::int64_t row : {0, 63, 64, 127, 128, 149}) {
    Sum sum(unit_model(math, DType::f16));
    for (std::int64_t k = 0; k < 20000; ++k) sum.add(a.at(row * 20000 + k), b.at(k));
    EXPECT_EQ(got.at(row), stored(DType::f16, sum.value())) << row;
  }
}

// alpha, beta and c in double, since they come in f32 after the sums.
TEST(simulated, gemm_scales_and_adds_to_what_the_unit_gives) {
  for (const Mode& mode : modes) {
    if (mode.dtype != DType::f32) continue;
    const Math math = parse_math(mode.math);
    const Tensor a = noise(mode.dtype, {9, 4}, 1), b = noise(mode.dtype, {7, 9}, 2);
    const Tensor c = noise(mode.dtype, {7}, 3);
    std::vector<double> plain, scaled;
    for (std::int64_t i = 0; i < 28; ++i) {
      Sum sum(unit_model(math, mode.dtype));
      for (std::int64_t k = 0; k < 9; ++k) sum.add(a.at(k * 4 + i / 7), b.at(i % 7 * 9 + k));
      const auto value = static_cast<float>(sum.value()), row = static_cast<float>(c.at(i % 7));
      plain.push_back(static_cast<double>(value + row));
      scaled.push_back(static_cast<double>(0.5F * value));
    }
    const Gemm op{.transA = 1, .transB = 1}, half{.alpha = 0.5, .transA = 1, .transB = 1};
    expect_bits(run_kernel(op, {a, b, c}, {.math = math}), plain, mode, "Gemm");
    expect_bits(run_kernel(half, {a, b}, {.math = math}), scaled, mode, "Gemm, scaled");
  }
}

struct Geometry {
  Dims x, w, pads, strides, dilations;
  std::int64_t group;

  std::size_t axes() const { return x.size() - 2; }
  Dims y() const {
    Dims dims{x[0], w[0]};
    for (std::size_t i = 0; i < axes(); ++i) {
      const std::int64_t reach = dilations[i] * (w[i + 2] - 1) + 1;
      dims.push_back((x[i + 2] + pads[i] + pads[axes() + i] - reach) / strides[i] + 1);
    }
    return dims;
  }
  // The place of x that tap `tap` of output `out` reads; false: padding.
  bool reads(const Dims& out, const Dims& tap, Dims& place) const {
    bool inside = true;
    for (std::size_t i = 0; i < axes(); ++i) {
      place[i] = out[i] * strides[i] + tap[i] * dilations[i] - pads[i];
      inside = inside && place[i] >= 0 && place[i] < x[i + 2];
    }
    return inside;
  }
};

const Geometry geometries[] = {
    {{2, 3, 5, 6}, {4, 3, 3, 2}, {1, 0, 1, 1}, {1, 1}, {1, 1}, 1},
    {{2, 4, 6, 5}, {6, 2, 3, 2}, {1, 1, 1, 1}, {2, 3}, {1, 2}, 2},
    {{2, 2, 9}, {3, 2, 3}, {2, 1}, {2}, {1}, 1},
    {{1, 2, 3, 4, 3}, {2, 2, 2, 2, 2}, {0, 1, 0, 0, 0, 1}, {1, 2, 1}, {1, 1, 1}, 1},
    {{2, 3, 4, 4}, {3, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 3},
};

using Visit = std::function<void(const Dims&)>;

void for_each_index(const Dims& dims, const Visit& visit) {
  for (std::int64_t i = 0; i < element_count(dims); ++i) {
    Dims index(dims.size());
    std::int64_t rest = i;
    for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
      index[axis] = rest % dims[axis];
    visit(index);
  }
}

double at(const Tensor& tensor, std::int64_t first, std::int64_t second, const Dims& places) {
  std::int64_t index = first * tensor.dims()[1] + second;
  for (std::size_t i = 0; i < places.size(); ++i) index = index * tensor.dims()[i + 2] + places[i];
  return tensor.at(index);
}

Dims spatial(const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); }

struct Tensors {
  Tensor x, w, y;
};

std::vector<double> forward(const Geometry& g, const UnitModel& model, const Tensors& in) {
  std::vector<double> results;
  const std::int64_t in_group = g.w[1], out_group = g.w[0] / g.group;
  for_each_index(g.y(), [&](const Dims& y) {
    Sum sum(model);
    for_each_index(spatial(g.w), [&](const Dims& tap) {
      Dims place(g.axes());
      const bool inside = g.reads(spatial(y), tap, place);
      for (std::int64_t c = 0; c < in_group; ++c)
        sum.add(inside ? at(in.x, y[0], y[1] / out_group * in_group + c, place) : 0,
                at(in.w, y[1], c, tap));
    });
    results.push_back(sum.value());
  });
  return results;
}

std::vector<double> data_gradient(const Geometry& g, const UnitModel& model, const Tensors& in) {
  std::vector<double> results;
  const std::int64_t in_group = g.w[1], out_group = g.w[0] / g.group;
  for_each_index(g.x, [&](const Dims& x) {
    Sum sum(model);
    for_each_index(spatial(g.w), [&](const Dims& tap) {
      // The one output place that reads x with this tap, if any: looked for among all.
      std::optional<Dims> reader;
      for_each_index(spatial(g.y()), [&](const Dims& out) {
        Dims place(g.axes());
        if (g.reads(out, tap, place) && place == spatial(x)) reader = out;
      });
      const std::int64_t group = x[1] / in_group;
      for (std::int64_t m = group * out_group; m < (group + 1) * out_group; ++m)
        sum.add(reader ? at(in.y, x[0], m, *reader) : 0, at(in.w, m, x[1] % in_group, tap));
    });
    results.push_back(sum.value());
  });
  return results;
}

std::vector<double> weight_gradient(const Geometry& g, const UnitModel& model, const Tensors& in) {
  std::vector<double> results;
  const std::int64_t in_group = g.w[1], out_group = g.w[0] / g.group;
  for_each_index(g.w, [&](const Dims& w) {
    Sum sum(model);
    for (std::int64_t n = 0; n < g.x[0]; ++n)
      for_each_index(spatial(g.y()), [&](const Dims& out) {
        Dims place(g.axes());
        const bool inside = g.reads(out, spatial(w), place);
        sum.add(inside ? at(in.x, n, w[0] / out_group * in_group + w[1], place) : 0,
                at(in.y, n, w[0], out));
      });
    results.push_back(sum.value());
  });
  return results;
}

template <class T>
T op_of(const Geometry& g) {
  T op;
  op.dilations = g.dilations;
  op.group = g.group;
  op.pads = g.pads;
  op.strides = g.strides;
  return op;
}

void check_convolution(const Geometry& g, const Mode& mode, const KernelRun& how) {
  const Tensors in{noise(mode.dtype, g.x, 1), noise(mode.dtype, g.w, 2),
                   noise(mode.dtype, g.y(), 3)};
  const UnitModel& model = unit_model(how.math, mode.dtype);
  expect_bits(run_kernel(op_of<Conv>(g), {in.x, in.w}, how), forward(g, model, in), mode, "Conv");
  auto data = op_of<ConvDataGradient>(g);
  data.shape = Shape(g.x.begin(), g.x.end());
  expect_bits(run_kernel(data, {in.y, in.w}, how), data_gradient(g, model, in), mode, "data");
  auto weight = op_of<ConvWeightGradient>(g);
  weight.shape = Shape(g.w.begin(), g.w.end());
  expect_bits(run_kernel(weight, {in.x, in.y}, how), weight_gradient(g, model, in), mode, "weight");
}

TEST(simulated, convolutions_are_the_units_with_taps_before_channels) {
  for (const Geometry& g : geometries)
    for (const Mode& mode : modes) check_convolution(g, mode, {.math = parse_math(mode.math)});
}

TEST(simulated, layouts_do_not_change_a_bit) {
  const Mode mode{"sim:a100", DType::f16};
  for (const Geometry& g : geometries)
    for (const std::int64_t wider : {0, 3})
      check_convolution(g, mode,
                        {.channels_last = true, .wider = wider, .math = parse_math(mode.math)});
}

TEST(simulated, a_bias_is_added_in_f32_before_the_result_is_rounded) {
  const Geometry& g = geometries[1];
  for (const Mode& mode : modes) {
    if (mode.dtype == DType::f64) continue;
    const Math math = parse_math(mode.math);
    const Tensors in{noise(mode.dtype, g.x, 1), noise(mode.dtype, g.w, 2), {}};
    const Tensor bias = noise(mode.dtype, {g.w[0]}, 5);
    std::vector<double> expected = forward(g, unit_model(math, mode.dtype), in);
    const std::int64_t plane = element_count(spatial(g.y()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::int64_t m = static_cast<std::int64_t>(i) / plane % g.w[0];
      expected[i] =
          static_cast<double>(static_cast<float>(expected[i]) + static_cast<float>(bias.at(m)));
    }
    expect_bits(run_kernel(op_of<Conv>(g), {in.x, in.w, bias}, {.math = math}), expected, mode,
                "Conv with bias");
  }
}

TEST(simulated, f8_operands_fill_the_range_of_their_format) {
  const Tensor a = noise(DType::f32, {3, 40}, 1), b = noise(DType::f32, {40, 4}, 2);
  const auto scale = [](const Tensor& tensor) {
    float largest = 0;
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      largest = std::max(largest, std::abs(static_cast<float>(tensor.at(i))));
    return largest / 448;
  };
  const float sa = scale(a), sb = scale(b);
  for (const char* text : {"sim:ieee:f8e4m3", "sim:h100:f8e4m3"}) {
    const Math math = parse_math(text);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < 12; ++i) {
      Sum sum(unit_model(math, DType::f32));
      for (std::int64_t k = 0; k < 40; ++k)
        sum.add(static_cast<double>(static_cast<float>(a.at(i / 4 * 40 + k)) / sa),
                static_cast<double>(static_cast<float>(b.at(k * 4 + i % 4)) / sb));
      expected.push_back(static_cast<double>(static_cast<float>(sum.value()) * (sa * sb)));
    }
    expect_bits(run_kernel(MatMul{}, {a, b}, {.math = math}), expected, {text, DType::f32}, text);
  }
}

// Rows along k in blocks, by the quantiser that tests/tensor/block_format_test.cpp checks.
class BlockLines {
 public:
  BlockLines(UnitFormat format, const BlockFormat& blocks, const Tensor& rows)
      : format_(format), quantized_(quantize(blocks, rows)) {}
  float tensor_scale() const { return quantized_.tensor_scale; }
  std::vector<Unpacked> elements(std::int64_t row) const {
    const std::int64_t depth = quantized_.elements.dims()[1];
    const bool halves = bits(quantized_.format.element) == 4;
    std::vector<Unpacked> line;
    for (std::int64_t i = row * depth; i < (row + 1) * depth; ++i) {
      const auto byte = std::to_integer<unsigned>(quantized_.elements.data()[halves ? i / 2 : i]);
      line.push_back(unpack(format_, halves ? byte >> (i % 2 * 4) & 15 : byte));
    }
    return line;
  }
  std::vector<Unpacked> scales(std::int64_t row) const {
    const std::int64_t blocks = quantized_.scales.dims()[1];
    std::vector<Unpacked> line;
    for (std::int64_t i = row * blocks; i < (row + 1) * blocks; ++i) {
      const auto byte = std::to_integer<unsigned>(quantized_.scales.data()[i]);
      line.push_back(format_ == UnitFormat::nvf4 ? unpack(UnitFormat::f8e4m3, byte)
                                                 : unpack_power(byte));
    }
    return line;
  }

 private:
  UnitFormat format_;
  BlockTensor quantized_;
};

TEST(simulated, blocks_along_k_have_scales_of_their_own) {
  const std::tuple<const char*, UnitFormat, BlockFormat> cases[] = {
      {"sim:b200:mxf8e4m3", UnitFormat::mxf8e4m3, mxfp8_e4m3},
      {"sim:b200:mxf8e5m2", UnitFormat::mxf8e5m2, mxfp8_e5m2},
      {"sim:b200:mxf4", UnitFormat::mxf4, mxfp4},
      {"sim:b200:nvf4", UnitFormat::nvf4, nvfp4}};
  const Tensor a = noise(DType::f32, {5, 70}, 1), b = noise(DType::f32, {6, 70}, 2);
  for (const auto& [text, format, blocks] : cases) {
    const BlockLines left(format, blocks, a), right(format, blocks, b);
    const UnitModel& model = unit_model(parse_math(text), DType::f32);
    const float factor = left.tensor_scale() * right.tensor_scale();
    std::vector<double> expected;
    for (std::int64_t i = 0; i < 30; ++i) {
      const auto row = left.scales(i / 6), column = right.scales(i % 6);
      const std::uint64_t bits =
          dot_product_add(model, left.elements(i / 6), right.elements(i % 6), 0, {row, column});
      expected.push_back(
          static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)) * factor));
    }
    expect_bits(run_kernel(Gemm{.transB = 1}, {a, b}, {.math = parse_math(text)}), expected,
                {text, DType::f32}, text);
  }
}

TEST(simulated, samples_with_nothing_in_them_are_taken) {
  const Math math = parse_math("sim:a100");
  const auto all = [&]<class T>(T) {
    for (const ErasedSample& sample : samples_of(record_of<T>())) {
      const auto inputs = draw(sample, DType::f32);
      std::vector<std::optional<Tensor>> wide;
      for (const auto& input : inputs)
        wide.push_back(input ? std::optional(input->cast(DType::f64)) : input);
      const KernelResult got =
          run_kernel(record_of<T>(), sample.attributes, inputs, {.math = math});
      const KernelResult exact =
          run_kernel(record_of<T>(), sample.attributes, wide, {.reference = true});
      expect_near(got.outputs[0], values_of(exact.outputs[0]), 3e-3, std::string(T::info.name), 1);
    }
  };
  all(MatMul{});
  all(FusedMatMul{});
  all(Gemm{});
  all(Conv{});
  all(ConvDataGradient{});
  all(ConvWeightGradient{});
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(simulated, a_unit_without_the_format_says_what_it_has) {
  EXPECT_EQ(error_of([] { unit_model(parse_math("sim:v100"), DType::bf16); }),
            "math sim:v100 of bf16: v100 multiplies no bf16, only f16, f32");
  EXPECT_EQ(error_of([] { unit_model(parse_math("sim:a100:f8e4m3"), DType::f32); }),
            "math sim:a100:f8e4m3 of f32: a100 multiplies no f8e4m3, only f16, bf16, tf32, f64, "
            "f32");
  EXPECT_NE(error_of([] { unit_model(parse_math("sim:a100:s8"), DType::f32); }), "none");
  EXPECT_NE(error_of([] { parse_math("sim:k80"); }).find("expected one of v100, t4, a100"),
            std::string::npos);
  EXPECT_NE(error_of([] { parse_math("sim:a100:f12"); }).find("unknown format in 'sim:a100:f12'"),
            std::string::npos);
}

TEST(simulated, f32_is_tf32_on_gpus_that_have_it_and_else_a_chain) {
  const auto operand = [](const char* math) {
    return unit_model(parse_math(math), DType::f32).operand;
  };
  EXPECT_EQ(operand("sim:a100"), UnitFormat::tf32);
  for (const char* math : {"sim:v100", "sim:t4", "sim:amx", "sim:ieee", "sim:ieee-split4"})
    EXPECT_EQ(operand(math), UnitFormat::f32) << math;
  setenv("NARROWGAUGE_TF32_OVERRIDE", "0", 1);
  EXPECT_EQ(operand("sim:a100"), UnitFormat::f32);
  EXPECT_EQ(operand("sim:a100:tf32"), UnitFormat::f32);
  unsetenv("NARROWGAUGE_TF32_OVERRIDE");
}

}  // namespace
}  // namespace narrowgauge::simulated_test
