// SPDX-License-Identifier: Apache-2.0
// Fast simulated products: against the scalar model, element by element, for every unit and format,
// and against this machine's own AMX, AVX512-BF16 and VNNI.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/machine/cpu.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "kernels/each_isa.h"
#include "narrowgauge/matrix_unit_arithmetic.h"
#include "units/product.h"

namespace narrowgauge::sim::simulated_product_test {
namespace {

// What bits are like.
enum class Kind { near_one, wide, any_finite, any, subnormal };

class RandomBits {
 public:
  RandomBits(UnitFormat format, Kind kind, unsigned seed)
      : format_(format), layout_(float_format(format)), kind_(kind), engine_(seed) {}

  std::uint64_t operator()() {
    std::uint64_t bits = engine_();
    if (format_ >= UnitFormat::s8) return bits;
    const int m = layout_.mantissa_bits, dropped = format_ == UnitFormat::tf32 ? 13 : 0;
    const std::uint64_t fields = (std::uint64_t{1} << layout_.exponent_bits) - 1;
    std::uint64_t field = bits >> 20 & fields;
    const auto bias = static_cast<std::uint64_t>(layout_.bias());
    if (kind_ == Kind::near_one) field = std::min(bias + (bits >> 8) % 3, fields) - (bias > 1);
    if (kind_ == Kind::wide) field = std::min(bias + (bits >> 8) % 40, bias + fields / 3);
    if (kind_ == Kind::subnormal) field = (bits >> 8) % 3;
    if (kind_ != Kind::any && field == fields) --field;
    const std::uint64_t mantissa = bits >> 40 & ((std::uint64_t{1} << m) - 1);
    const std::uint64_t sign = bits >> 63;
    bits = ((sign << layout_.exponent_bits | field) << m | mantissa) << dropped;
    return (engine_() & 31) == 0 ? 0 : bits;
  }
  std::uint64_t integer() { return engine_(); }

 private:
  UnitFormat format_;
  FloatFormat layout_;
  Kind kind_;
  std::mt19937_64 engine_;
};

class Bytes {
 public:
  Bytes(UnitFormat format, std::int64_t count)
      : format_(format), bytes_(static_cast<std::size_t>(count * element_bytes(format))) {}
  void fill(RandomBits& random) {
    const auto width = static_cast<std::size_t>(element_bytes(format_));
    for (std::size_t i = 0; i < bytes_.size(); i += width) {
      const std::uint64_t bits = random();
      std::memcpy(bytes_.data() + i, &bits, width);
    }
  }
  void* data() { return bytes_.data(); }
  const std::vector<std::byte>& all() const { return bytes_; }

 private:
  UnitFormat format_;
  std::vector<std::byte> bytes_;
};

struct Shape {
  std::int64_t rows, columns, depth;
};

// One product with everything random, and the scalar model's answer.
class Case {
 public:
  Case(const UnitModel& model, Shape shape, Kind kind, unsigned seed)
      : model_(model),
        shape_(shape),
        a_(model.operand, shape.rows * shape.depth),
        b_(model.operand, shape.columns * shape.depth),
        c_(model.result, shape.rows * shape.columns) {
    RandomBits operands(model.operand, kind, seed);
    RandomBits sums(model.result, kind, seed + 1);
    a_.fill(operands);
    b_.fill(operands);
    c_.fill(sums);
    blocks_ = block_size(model.operand) ? (shape.depth + 15) / block_size(model.operand) + 1 : 0;
    scales_.resize(static_cast<std::size_t>(blocks_ * (shape.rows + shape.columns)));
    for (std::uint8_t& scale : scales_) {
      const std::uint64_t bits = operands.integer();
      scale = static_cast<std::uint8_t>(kind == Kind::any ? bits : 0x30 + bits % 16 * 2);
    }
  }

  Elements a() { return {model_.operand, a_.data(), shape_.depth, 1, scales_.data(), blocks_}; }
  Elements b() {  // [depth, columns]
    return {model_.operand, b_.data(), 1, shape_.columns, scales_.data() + blocks_ * shape_.rows,
            blocks_};
  }

  Bytes fast() {
    Bytes d(model_.result, shape_.rows * shape_.columns);
    const PackedColumns columns(model_, shape_.columns, shape_.depth, b());
    multiply(model_, shape_.rows, a(), columns, {c_.data(), shape_.columns},
             {d.data(), shape_.columns});
    return d;
  }

  std::uint64_t scalar(std::int64_t row, std::int64_t column) {
    const auto depth = static_cast<std::size_t>(shape_.depth);
    const auto block = static_cast<std::size_t>(block_size(model_.operand));
    const std::size_t blocks = block ? (depth + block - 1) / block : 0;
    std::vector<Unpacked> x(depth), y(depth), s(blocks), t(blocks);
    unpack_line(a(), row, x);
    unpack_line(b(), column, y);
    unpack_scales(a(), row, s);
    unpack_scales(b(), column, t);
    const Elements c{model_.result, c_.data(), shape_.columns, 1, nullptr, 0};
    return dot_product_add(model_, x, y, element_bits(c, row, column), {s, t});
  }

 private:
  const UnitModel& model_;
  Shape shape_;
  Bytes a_, b_, c_;
  std::int64_t blocks_ = 0;
  std::vector<std::uint8_t> scales_;
};

void expect_equal(const UnitModel& model, Shape shape, Kind kind, unsigned seed) {
  Case one(model, shape, kind, seed);
  Bytes d = one.fast();
  const Elements rows{model.result, d.data(), shape.columns, 1, nullptr, 0};
  for (std::int64_t i = 0; i < shape.rows; ++i)
    for (std::int64_t j = 0; j < shape.columns; ++j)
      ASSERT_EQ(element_bits(rows, i, j), one.scalar(i, j))
          << name(model.unit) << ' ' << name(model.operand) << " to " << name(model.result)
          << " kind " << static_cast<int>(kind) << " at " << i << ", " << j;
}

TEST(simulated_product, equals_the_scalar_model_bit_by_bit) {
  for (const UnitModel& model : unit_models())
    for (const Kind kind :
         {Kind::near_one, Kind::wide, Kind::any_finite, Kind::any, Kind::subnormal}) {
      expect_equal(model, {7, 37, 67}, kind, 11);
      expect_equal(model, {1, 1, 1}, kind, 12);
      expect_equal(model, {4, 16, 32}, kind, 13);
    }
}

TEST(simulated_product, does_not_depend_on_flushing_or_threads) {
  const UnitModel& model = *find_unit_model(MatrixUnit::h100, UnitFormat::bf16, UnitFormat::f32);
  Case one(model, {40, 300, 50}, Kind::subnormal, 3);
  const std::vector<std::byte> usual = one.fast().all();
  const ThreadScope threads(1);
  const FloatingEnvironment flush(Subnormals::flush);
  EXPECT_EQ(one.fast().all(), usual);
}

TEST(simulated_product, of_no_depth_is_c) {
  const UnitModel& model = *find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32);
  Case one(model, {2, 3, 0}, Kind::near_one, 5);
  Bytes d = one.fast();
  const Elements rows{UnitFormat::f32, d.data(), 3, 1, nullptr, 0};
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(element_bits(rows, i / 3, i % 3), one.scalar(i / 3, i % 3));
}

TEST(simulated_product, is_the_same_on_every_isa) {
  expect_tests_pass_under_each_isa("simulated_product.equals_the_scalar_model_bit_by_bit");
}

}  // namespace
}  // namespace narrowgauge::sim::simulated_product_test
