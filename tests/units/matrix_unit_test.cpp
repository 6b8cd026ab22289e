// SPDX-License-Identifier: Apache-2.0
// The scalar model of matrix units: against what A100 and H100 gave (5,000 dot products for each
// format), published probes, and values that show one property each.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "narrowgauge/matrix_unit_arithmetic.h"
#include "support/archive.h"

namespace narrowgauge::matrix_unit_test {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::vector<std::uint64_t>>;

Rows read_rows(const fs::path& path, int base) {
  Rows rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::vector<std::uint64_t> row;
    for (std::string word; words >> word;) row.push_back(std::stoull(word, nullptr, base));
    if (!row.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

// The pattern of a value that a narrower format holds exactly.
std::uint64_t bits_in(UnitFormat format, double value) {
  const FloatFormat to = float_format(format);
  const std::uint64_t sign = std::signbit(value) ? 1 : 0;
  value = std::fabs(value);
  std::uint64_t magnitude = 0;
  if (std::isinf(value)) {
    magnitude = ((std::uint64_t{1} << to.exponent_bits) - 1) << to.mantissa_bits;
  } else if (value != 0) {
    const int exponent = std::max(std::ilogb(value), to.smallest_exponent());
    const auto significand =
        static_cast<std::uint64_t>(std::ldexp(value, to.mantissa_bits - exponent));
    magnitude =
        (static_cast<std::uint64_t>(exponent - to.smallest_exponent()) << to.mantissa_bits) +
        significand;
  }
  const std::uint64_t bits = sign << (to.exponent_bits + to.mantissa_bits) | magnitude;
  return format == UnitFormat::tf32 ? bits << 13 : bits;
}

float as_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::vector<Unpacked> unpacked(UnitFormat format, const std::vector<double>& values) {
  std::vector<Unpacked> result;
  for (const double value : values) result.push_back(unpack(format, bits_in(format, value)));
  return result;
}

// f32 bits of values of a format, as the files have them.
std::vector<Unpacked> unpacked_row(UnitFormat format, const std::vector<std::uint64_t>& row) {
  std::vector<double> values;
  for (const std::uint64_t bits : row) values.push_back(static_cast<double>(as_float(bits)));
  return unpacked(format, values);
}

// f32 to f16, to nearest even.
std::uint64_t to_f16(float value) {
  return matrix_unit_arithmetic::nearest(UnitFormat::f16, static_cast<double>(value));
}

struct Vectors {
  const char *gpu, *format;
  MatrixUnit unit;
  UnitFormat operand;
};

class Measured {
 public:
  Measured(const fs::path& folder, const Vectors& vectors) {
    const std::string start = std::string(vectors.gpu) + '.' + vectors.format + '.';
    const auto path = [&](const std::string& rest) { return folder / (start + rest + ".txt"); };
    a = read_rows(path(std::string("a.") + vectors.format), 16);
    b = read_rows(path(std::string("b.") + vectors.format), 16);
    c = read_rows(path("c.fp32"), 2);
    d32 = read_rows(path("d.fp32"), 2);
    d16 = read_rows(path("d.fp16"), 2);
  }
  Rows a, b, c, d32, d16;
};

int mismatches(const Measured& measured, const Vectors& vectors, UnitFormat result) {
  const bool is_f8 = vectors.operand >= UnitFormat::f8e4m3;
  // The H100's 8-bit data are those of mma.sync where results are in f16.
  const bool is_mma = vectors.unit == MatrixUnit::h100 && is_f8 && result == UnitFormat::f16;
  const UnitModel* model =
      find_unit_model(is_mma ? MatrixUnit::h100_mma : vectors.unit, vectors.operand, result);
  const Rows& expected = result == UnitFormat::f16 ? measured.d16 : measured.d32;
  EXPECT_NE(model, nullptr);
  EXPECT_EQ(expected.size(), 5000U);
  // With results in f32 they were taken without c.
  const bool without_c = vectors.unit == MatrixUnit::h100 && is_f8 && result == UnitFormat::f32;
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float c = without_c ? 0 : as_float(measured.c[i][0]);
    const std::uint64_t c_bits =
        result == UnitFormat::f16 ? to_f16(c) : std::bit_cast<std::uint32_t>(c);
    std::uint64_t d = dot_product_add(*model, unpacked_row(vectors.operand, measured.a[i]),
                                      unpacked_row(vectors.operand, measured.b[i]), c_bits);
    if (result == UnitFormat::f16)  // the files hold it as f32
      d = std::bit_cast<std::uint32_t>(static_cast<float>(unpack(result, d).value));
    wrong += d != expected[i][0];
  }
  return wrong;
}

TEST(matrix_unit, gives_what_a100_and_h100_gave) {
  const fs::path archive = testing_support::data_folder() / "tensor_core_vectors.tar.xz";
  if (!fs::exists(archive)) GTEST_SKIP() << archive << " is not there";
  const testing_support::UnpackedArchive unpacked_archive(archive);
  using enum UnitFormat;
  for (const Vectors& vectors : {Vectors{"A100", "fp16", MatrixUnit::a100, f16},
                                 {"A100", "bf16", MatrixUnit::a100, bf16},
                                 {"A100", "tf32", MatrixUnit::a100, tf32},
                                 {"H100", "fp16", MatrixUnit::h100, f16},
                                 {"H100", "bf16", MatrixUnit::h100, bf16},
                                 {"H100", "tf32", MatrixUnit::h100, tf32},
                                 {"H100", "E4M3", MatrixUnit::h100, f8e4m3},
                                 {"H100", "E5M2", MatrixUnit::h100, f8e5m2}}) {
    const Measured measured(unpacked_archive.folder() / "tensor_core_vectors", vectors);
    EXPECT_EQ(mismatches(measured, vectors, f32), 0) << vectors.gpu << vectors.format;
    if (measured.d16.empty()) continue;
    EXPECT_EQ(mismatches(measured, vectors, f16), 0) << vectors.gpu << vectors.format;
  }
}

float sum(MatrixUnit unit, UnitFormat operand, const std::vector<double>& a,
          const std::vector<double>& b, float c = 0) {
  const UnitModel* model = find_unit_model(unit, operand, UnitFormat::f32);
  EXPECT_NE(model, nullptr);
  return as_float(dot_product_add(*model, unpacked(operand, a), unpacked(operand, b),
                                  std::bit_cast<std::uint32_t>(c)));
}

// Beside 2^24, terms below 2, 1 and 1/2 are lost (after the probe of FTTN, arXiv 2403.00232).
TEST(matrix_unit, loses_terms_below_its_fraction) {
  const std::vector<double> b{0x1p12, 0x1p12, 1, 1};
  const auto beside = [&](MatrixUnit unit, double term) {
    return sum(unit, UnitFormat::f16, {0x1p12, -0x1p12, term, term}, b);
  };
  EXPECT_EQ(beside(MatrixUnit::v100, 2), 4);
  EXPECT_EQ(beside(MatrixUnit::v100, 1.5), 0);
  EXPECT_EQ(beside(MatrixUnit::a100, 1.5), 2);
  EXPECT_EQ(beside(MatrixUnit::a100, 0.75), 0);
  EXPECT_EQ(beside(MatrixUnit::h100, 0.75), 1);
  EXPECT_EQ(beside(MatrixUnit::h100, 0.375), 0);
  EXPECT_EQ(beside(MatrixUnit::ieee, 0.375), 0.75);
}

TEST(matrix_unit, cuts_results_toward_zero_where_fma_rounds_to_nearest) {
  const std::vector<double> a{1, 0x1p-12, 0x1p-12}, b{1, 0x1.8p-12, 0};
  EXPECT_EQ(sum(MatrixUnit::a100, UnitFormat::f16, a, b), 1);  // 1 + 0.75 ulp
  EXPECT_EQ(sum(MatrixUnit::ieee, UnitFormat::f16, a, b), 1 + 0x1p-23F);
}

TEST(matrix_unit, tells_orders_of_ieee_sums_apart) {
  std::vector<double> a(16, 1.0), b(16, 1.0);
  a[0] = 0x1p24;
  EXPECT_EQ(sum(MatrixUnit::ieee, UnitFormat::f32, a, b), 0x1p24F);
  EXPECT_EQ(sum(MatrixUnit::ieee_split4, UnitFormat::f32, a, b), 0x1p24F + 12);
  EXPECT_EQ(sum(MatrixUnit::ieee_pairwise, UnitFormat::f32, a, b), 0x1p24F + 14);
}

TEST(matrix_unit, keeps_subnormals_and_gpus_nan) {
  const std::vector<double> least{0x1p-24}, one{1};
  EXPECT_EQ(sum(MatrixUnit::a100, UnitFormat::f16, least, least), 0x1p-48F);
  EXPECT_EQ(sum(MatrixUnit::a100, UnitFormat::bf16, {0x1p-133}, one), 0x1p-133F);
  EXPECT_EQ(sum(MatrixUnit::amx, UnitFormat::bf16, {0x1p-133}, one), 0);
  const UnitModel& a100 = *find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto d = [&](double x, double y, std::uint64_t c) {
    return dot_product_add(a100, unpacked(UnitFormat::f16, {x}), unpacked(UnitFormat::f16, {y}), c);
  };
  EXPECT_EQ(d(infinity, 0, 0), 0x7fff'ffffU);
  EXPECT_EQ(d(infinity, 1, 0xff80'0000), 0x7fff'ffffU);
  EXPECT_EQ(d(infinity, -1, 0), 0xff80'0000U);
  EXPECT_EQ(d(1, 1, 0x7fc0'0001), 0x7fff'ffffU);
  EXPECT_EQ(d(-1, 1, 0x3f80'0000), 0U);
}

TEST(matrix_unit, scales_blocks_by_their_exponents) {
  const UnitModel& mx = *find_unit_model(MatrixUnit::b200, UnitFormat::mxf8e4m3, UnitFormat::f32);
  const auto one = unpacked(UnitFormat::mxf8e4m3, std::vector<double>(40, 1.0));
  const std::vector<Unpacked> a{unpack_power(128), unpack_power(126)},
      b{unpack_power(127), unpack_power(127)};
  EXPECT_EQ(as_float(dot_product_add(mx, one, one, 0, {a, b})), 32 * 2 + 8 * 0.5F);
  const UnitModel& nv = *find_unit_model(MatrixUnit::b200, UnitFormat::nvf4, UnitFormat::f32);
  const auto six = unpacked(UnitFormat::nvf4, std::vector<double>(20, 6.0));
  const auto scales = unpacked(UnitFormat::f8e4m3, {1.5, 0.25});
  EXPECT_EQ(as_float(dot_product_add(nv, six, six, 0, {scales, scales})),
            36 * (16 * 2.25F + 4 * 0.0625F));
  const std::vector<Unpacked> nan{unpack_power(255), unpack_power(127)};
  EXPECT_TRUE(std::isnan(as_float(dot_product_add(mx, one, one, 0, {nan, b}))));
}

TEST(matrix_unit, names_are_read_back) {
  for (int i = 0; i < matrix_unit_count; ++i)
    EXPECT_EQ(parse_matrix_unit(name(static_cast<MatrixUnit>(i))), static_cast<MatrixUnit>(i));
  for (int i = 0; i < unit_format_count; ++i)
    EXPECT_EQ(parse_unit_format(name(static_cast<UnitFormat>(i))), static_cast<UnitFormat>(i));
  EXPECT_EQ(parse_matrix_unit("h200"), MatrixUnit::h100);
  EXPECT_FALSE(parse_matrix_unit("a1000"));
}

TEST(matrix_unit, has_one_model_for_each_operation) {
  for (const UnitModel& model : unit_models()) {
    EXPECT_EQ(find_unit_model(model.unit, model.operand, model.result), &model);
    EXPECT_FALSE(model.source.empty());
  }
  EXPECT_EQ(find_unit_model(MatrixUnit::v100, UnitFormat::bf16, UnitFormat::f32), nullptr);
}

TEST(matrix_unit, results_are_wide_unless_told_otherwise) {
  EXPECT_EQ(usual_result(UnitFormat::f64), UnitFormat::f64);
  for (const UnitFormat format : {UnitFormat::f16, UnitFormat::tf32, UnitFormat::nvf4})
    EXPECT_EQ(usual_result(format), UnitFormat::f32);
  for (const UnitFormat format : {UnitFormat::s8, UnitFormat::u4, UnitFormat::b1})
    EXPECT_EQ(usual_result(format), UnitFormat::s32);
  for (const UnitModel& model : unit_models())
    EXPECT_TRUE(find_unit_model(model.unit, model.operand, usual_result(model.operand)))
        << name(model.unit) << ' ' << name(model.operand);
}

}  // namespace
}  // namespace narrowgauge::matrix_unit_test
