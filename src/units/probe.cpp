// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/probe.h"

#include <cmath>
#include <vector>

#include "base/machine/floating_environment.h"
#include "narrowgauge/error.h"
#include "narrowgauge/matrix_unit_arithmetic.h"
#include "narrowgauge/simulate.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

struct Factors {
  double a, b;
};

// Products are powers of two, or three times one, around 2^12: every format of a byte or more has
// room for 30 binades below.
class Probe {
 public:
  explicit Probe(const UnitModel& model) : model_(model) {
    const bool byte = model.operand == UnitFormat::f8e4m3 || model.operand == UnitFormat::f8e5m2;
    most_bits_ = byte ? 30 : model.operand == UnitFormat::f16 ? 36 : 60;
  }

  int most_bits() const { return most_bits_; }

  double run(const std::vector<Factors>& products, double c = 0) const {
    std::vector<Unpacked> a, b;
    for (const Factors& each : products) {
      a.push_back(element(each.a));
      b.push_back(element(each.b));
    }
    const std::uint64_t bits = dot_product_add(model_, a, b, bits_of(model_.result, c));
    return unpack(model_.result, bits).value;
  }

  // one * 2^-bits as a product.
  static Factors part(int bits, double times = 1) {
    const int exponent = 12 - bits, half = exponent / 2;
    return {std::ldexp(times, half), std::ldexp(1.0, exponent - half)};
  }

  int result_bits() const {
    int bits = 0;
    while (bits < most_bits_ && run({part(0), part(bits + 1)}) > one) ++bits;
    return bits;
  }

  int kept_bits() const {
    int bits = 0;
    while (bits < most_bits_ && run({part(0), part(bits + 1), part(0, -1)}) != 0) ++bits;
    return bits;
  }

  // Two halves of the last place count only if they are added together.
  int at_once(int result_bits) const {
    for (int last = 2; last < most_at_once; ++last) {
      std::vector<Factors> products(static_cast<std::size_t>(last) + 1, Factors{0, 0});
      products[0] = part(0);
      products[1] = products.back() = part(result_bits);
      if (run(products, one) != 2 * one + 2 * std::ldexp(one, -result_bits))
        return last == 2 ? 1 : last;
    }
    return most_at_once;
  }

  SumRounding rounding(int result_bits) const {
    const auto size = [&](double sign) {  // of 2 + 1.5 ulp, in ulp beyond 2
      const double sum = run({part(0, sign), part(0, sign), part(result_bits, 3 * sign)});
      return (std::fabs(sum) - 2 * one) / std::ldexp(2 * one, -result_bits);
    };
    const bool up = size(1) > 1, down = size(-1) > 1;
    if (up && down) return SumRounding::nearest;
    return up ? SumRounding::up : down ? SumRounding::down : SumRounding::towards_zero;
  }

  bool reads_subnormals() const {
    const FloatFormat format = float_format(model_.operand);
    const double least = std::ldexp(1.0, format.smallest_exponent() - format.mantissa_bits);
    return run({{least, std::ldexp(1.0, format.bias() / 2)}}) != 0;
  }
  bool gives_subnormals() const {
    const FloatFormat format = float_format(model_.result);
    const double least = std::ldexp(1.0, format.smallest_exponent() - format.mantissa_bits / 2);
    return run({{0, 0}}, least) != 0;
  }

  // Three steps of 16 products, each with a pair that cancels and so decides what is kept beside
  // it. 64 beside 2^31 is lost everywhere; 192 beside 2^30 and an eighth beside 2^22 need 25 bits.
  std::optional<double> cancellation() const {
    if (model_.result != UnitFormat::f32 || float_format(model_.operand).exponent_bits < 5 ||
        model_.operand == UnitFormat::f8e5m2)
      return {};
    constexpr double half = 0x1p15;
    std::vector<Factors> products(48, Factors{0, 0});
    products[0] = products[1] = {-half, half};
    products[2] = products[3] = {4, 8};
    for (std::size_t k = 16; k < 28; k += 4) {
      products[k] = {half, half};
      products[k + 1] = {-half, half};
      products[k + 2] = products[k + 3] = {4, 8};
    }
    products[32] = {0x1p11, 0x1p11};
    products[33] = {-0x1p11, 0x1p11};
    products[34] = {-0.125, 1};
    return run(products, 0x1p31);
  }

 private:
  static constexpr double one = 0x1p12;

  static std::uint64_t bits_of(UnitFormat format, double value) {
    std::uint64_t bits = 0;
    store_element(element_dtype(format), &bits, 0, value);
    return bits;
  }
  Unpacked element(double value) const {
    return unpack(model_.operand, bits_of(model_.operand, value));
  }

  const UnitModel& model_;
  int most_bits_;
};

}  // namespace

std::string_view name(SumRounding rounding) {
  switch (rounding) {
    case SumRounding::nearest:
      return "nearest";
    case SumRounding::up:
      return "up";
    case SumRounding::down:
      return "down";
    default:
      return "towards 0";
  }
}

bool can_be_probed(const UnitModel& model) {
  return model.operand < UnitFormat::s8 && block_size(model.operand) == 0;
}

ProbeResult probe(const UnitModel& model) {
  const FloatingEnvironment environment(Subnormals::keep);
  require(can_be_probed(model), "probe: ", name(model.unit), ' ', name(model.operand), " -> ",
          name(model.result), " is not a plain floating-point format");
  const Probe numbers(model);
  ProbeResult it;
  it.cancellation = numbers.cancellation();
  it.most_bits = numbers.most_bits();
  it.result_bits = numbers.result_bits();
  it.kept_bits = numbers.kept_bits();
  it.at_once = numbers.at_once(it.result_bits);
  it.rounding = numbers.rounding(it.result_bits);
  it.reads_subnormals = numbers.reads_subnormals();
  it.gives_subnormals = numbers.gives_subnormals();
  return it;
}

}  // namespace narrowgauge
