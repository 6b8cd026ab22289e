// SPDX-License-Identifier: Apache-2.0
// error_bound.h explains what is followed here, and why.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/machine/floating_environment.h"
#include "narrowgauge/error_bound.h"
#include "narrowgauge/matrix_unit_formats.h"

namespace narrowgauge::sim {
namespace {

// Probabilities of binary exponents, from `lowest` on.
constexpr int lowest = -96;
using Exponents = std::array<double, 128>;
double& at(Exponents& table, int exponent) {
  return table[static_cast<std::size_t>(std::clamp(exponent - lowest, 0, 127))];
}
double at(const Exponents& table, int exponent) {
  return table[static_cast<std::size_t>(std::clamp(exponent - lowest, 0, 127))];
}

// 2^exponent where that is a normal number: ldexp() would take most of the time here.
double normal_power(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

Exponents operand_exponents(RandomOperands operands, int least) {
  Exponents table{};
  for (int e = -48; e < 4; ++e) {
    const double low = normal_power(e);
    const double share = operands == RandomOperands::uniform
                             ? (e < 0 ? low : 0)
                             : std::erf(2 * low / std::sqrt(2.0)) - std::erf(low / std::sqrt(2.0));
    at(table, std::max(e, least)) += share;
  }
  return table;
}

// What a rounding loses: the mean and the mean square.
struct Loss {
  double mean = 0, square = 0;
};

// Loses `dropped` bits below a unit, each equally likely 0 or 1.
Loss cut_loss(int dropped, double unit) {
  if (dropped <= 0) return {};
  const double steps = normal_power(std::min(dropped, 60));
  return {(1 - 1 / steps) / 2 * unit,
          (steps - 1) * (2 * steps - 1) / (6 * steps * steps) * unit * unit};
}
Loss nearest_loss(int dropped, double unit) {
  if (dropped <= 0) return {};
  return {0, (1 + 2 * normal_power(-2 * std::min(dropped, 60))) / 12 * unit * unit};
}

// Products of the unit's random operands.
class Products {
 public:
  Products(UnitFormat format, RandomOperands operands) : operands_(operands) {
    const FloatFormat bits = float_format(format);
    fraction_ = 2 * bits.mantissa_bits;
    const Exponents one = operand_exponents(operands, bits.smallest_exponent());
    for (int a = -48; a < 4; ++a)
      for (int b = -48; b < 4; ++b) at(shares_, a + b) += at(one, a) * at(one, b);
    double sum = 0;
    for (int e = lowest; e < lowest + 128; ++e) at(up_to_, e) = sum += at(shares_, e);
  }

  bool one_sign() const { return operands_ == RandomOperands::uniform; }
  double mean_size() const { return one_sign() ? 0.25 : 2 / M_PI; }
  // The size of a sum of `count` products: its mean, or its root mean square.
  double sum_size(double count) const { return one_sign() ? count / 4 : std::sqrt(count); }

  // For each exponent the chance that none of `count` products has a larger one.
  Exponents none_above(double count) const {
    Exponents chances{};
    for (int e = lowest; e <= 8; ++e) at(chances, e) = std::pow(at(up_to_, e), count);
    return chances;
  }
  // For each exponent the chance that it is the least one of `count` products.
  Exponents least_of(double count) const {
    Exponents chances{};
    double above = 1;  // the chance that all exponents are at least e
    for (int e = lowest; e <= 8 && above > 1e-6; ++e) {
      const double above_next = std::pow(std::max(1 - at(up_to_, e), 0.0), count);
      at(chances, e) = above - above_next;
      above = above_next;
    }
    return chances;
  }
  // The mean of loss(level) over the levels of the lowest bits, 2^least or higher, of products of
  // which least_of() gave these chances.
  template <class LossOf>
  Loss over_lowest_bits(const Exponents& chances, int least, LossOf loss_of) const {
    Loss loss;
    for (int e = lowest; e <= 8; ++e) {
      const double chance = at(chances, e);
      if (chance < 1e-6) continue;
      const Loss one = loss_of(std::max(e - fraction_, least));
      loss.mean += chance * one.mean;
      loss.square += chance * one.square;
    }
    return loss;
  }
  // The loss of one product when bits below 2^level are cut; exponents go up to `largest`.
  Loss cut_below(int level, int largest) const {
    Loss loss;
    if (level <= lowest - fraction_) return loss;
    const double unit = normal_power(level);
    for (int e = lowest; e <= std::min(largest, 8); ++e) {
      const double share = at(shares_, e), size = normal_power(e);
      if (share == 0) continue;
      // A significand in [1, 4) with the logarithms of both factors evenly spread has the mean 1 /
      // ln(2)^2 and the mean square (3 / (2 ln 2))^2.
      const bool whole = e + 1 < level;
      const Loss one =
          whole ? Loss{2.08 * size, 4.68 * size * size} : cut_loss(level - (e - fraction_), unit);
      loss.mean += share * one.mean;
      loss.square += share * one.square;
    }
    return loss;
  }

 private:
  RandomOperands operands_;
  int fraction_ = 0;
  Exponents shares_{}, up_to_{};
};

struct Arithmetic {
  double at_once = 1;
  int fraction = 900;  // beyond all: nothing is cut but the sum
  int mantissa = 23;
  bool nearest = true;
};

// Errors of partial sums: `random` is a variance, `lost` what all sums lose.
struct Walked {
  double random = 0, lost = 0;
  double size(const Products& products, double count) const {
    return std::sqrt(random + lost * lost) / (count * products.mean_size());
  }
};

// The steps of a walk: all of the first ones, later ones represented by ever fewer.
class Walk {
 public:
  Walk(const Products& products, const Arithmetic& arithmetic)
      : products_(products), arithmetic_(arithmetic) {}

  Walked run(double depth) {
    terms_ = std::min(depth, arithmetic_.at_once);
    none_above_ = products_.none_above(terms_);
    least_ = products_.least_of(terms_);
    const double steps = std::ceil(depth / arithmetic_.at_once);
    for (double step = 0; step < steps;) {
      const double count = std::min(std::max(1.0, std::floor(step / 24)), steps - step);
      take(step + (count - 1) / 2, count);
      step += count;
    }
    add_correlated();
    return walked_;
  }

 private:
  struct Point {
    double step, count, lost;  // by each step, of the sum itself
  };

  // Takes `count` steps like this one.
  void take(double step, double count) {
    // Eighths of a half-normal distribution, by their middles; sums of one sign are near the mean.
    static constexpr std::array<double, 8> spread{0.079, 0.237, 0.402, 0.579,
                                                  0.776, 1.010, 1.318, 1.863};
    const double before = products_.sum_size(step * terms_);
    const double after = products_.sum_size((step + 1) * terms_);
    Loss of_terms, of_sum;
    for (const double quantile : spread) {
      const double factor = products_.one_sign() ? 1 : quantile;
      add_case(std::max(before * factor - shortfall(), 0.0),
               std::max(after * factor - shortfall(), 1e-30), of_terms, of_sum);
    }
    const double eighth = 1.0 / spread.size();
    const double terms_mean = eighth * of_terms.mean, sum_mean = eighth * of_sum.mean;
    walked_.random += count * eighth * of_sum.square - count * sum_mean * sum_mean;
    walked_.random += count * eighth * of_terms.square;
    if (products_.one_sign()) {
      walked_.random -= count * terms_mean * terms_mean / terms_;
      walked_.lost += count * (terms_mean + sum_mean);
    } else {
      points_.push_back({step + 1, count, sum_mean});
    }
  }

  double shortfall() const { return products_.one_sign() ? walked_.lost : 0; }

  // Adds the case of a sum of this size before and after, for every common exponent of the terms.
  void add_case(double before, double after, Loss& of_terms, Loss& of_sum) const {
    const int of_c = before > 0 ? std::ilogb(before) : lowest;
    double below = 0;
    for (int e = of_c; e <= 8 || e == of_c; ++e) {
      const double up_to = e > 8 ? 1 : at(none_above_, e);
      const double chance = up_to - below;
      below = up_to;
      if (chance < 1e-6) continue;
      const int level = e - arithmetic_.fraction;
      const Loss one = products_.cut_below(level, e);
      of_terms.mean += chance * terms_ * one.mean;
      of_terms.square += chance * terms_ * one.square;
      add_rounding(chance, before > 0 ? of_c : e, level, after, of_sum);
    }
  }

  // Adds the cut of c if a product is larger, and the rounding of the sum.
  void add_rounding(double chance, int of_c, int level, double after, Loss& of_sum) const {
    const Loss c = cut_loss(level - (of_c - arithmetic_.mantissa), normal_power(level));
    const int last = std::ilogb(after) - arithmetic_.mantissa;
    const double unit = normal_power(last);
    const Loss sum = products_.over_lowest_bits(least_, level, [&](int lowest_bit) {
      const int dropped = last - lowest_bit;
      return arithmetic_.nearest ? nearest_loss(dropped, unit) : cut_loss(dropped, unit);
    });
    of_sum.mean += chance * (sum.mean + c.mean);
    of_sum.square += chance * (sum.square + c.square);
  }

  // With both signs, the loss of a sum follows its sign.
  void add_correlated() {
    if (points_.empty()) return;
    const double end = points_.back().step + points_.back().count / 2;
    double square = 0;
    for (const Point& a : points_) {
      walked_.lost += a.count * a.lost * std::sqrt(std::min(a.step / end, 1.0));
      for (const Point& b : points_) {
        const double ratio = std::min(a.step, b.step) / std::max(a.step, b.step);
        square += a.count * a.lost * b.count * b.lost * std::sqrt(ratio);
      }
    }
    // The mean square of something proportional to |sum| is pi / 2 of the squared mean.
    walked_.random += std::max(M_PI / 2 * square - walked_.lost * walked_.lost, 0.0);
  }

  const Products& products_;
  Arithmetic arithmetic_;
  double terms_ = 1;                  // products in a step
  Exponents none_above_{}, least_{};  // of their exponents
  Walked walked_;
  std::vector<Point> points_;
};

// The variance of rounding to nearest when sums of `count` products are added.
double addition(const Products& products, double count, int mantissa) {
  const double size = products.sum_size(count);
  const int last = std::ilogb(size) - mantissa;
  const auto loss = [&](int lowest_bit) {
    return nearest_loss(last - lowest_bit, normal_power(last));
  };
  return products.over_lowest_bits(products.least_of(count), -2000, loss).square;
}

Walked tree(const Products& products, double depth) {
  Walked walked;
  for (double width = 1; width < 2 * depth; width *= 2) {
    const double count = std::min(width, depth);
    walked.random += std::ceil(depth / width) * addition(products, count, 23);
  }
  return walked;
}

// Adds `parts` partial sums, each from one walk, one after the other to nearest.
Walked added_parts(const Products& products, const Arithmetic& part, double width, double depth) {
  Walked walked;
  const double parts = std::ceil(depth / width);
  const Walked one = Walk(products, part).run(std::min(width, depth));
  walked.random = parts * one.random;
  walked.lost = products.one_sign() ? parts * one.lost : std::sqrt(parts) * one.lost;
  for (double done = 1; done < parts;) {
    const double count = std::min(std::max(1.0, std::floor(done / 24)), parts - done);
    walked.random += count * addition(products, (done + count / 2) * width, part.mantissa);
    done += count;
  }
  return walked;
}

Arithmetic cutting(const UnitModel& unit) {
  Arithmetic arithmetic{static_cast<double>(unit.terms), unit.fraction, 23, false};
  if (unit.rounding == ResultRounding::f32_cut_to_13) arithmetic.mantissa = 13;
  if (unit.rounding == ResultRounding::f16_nearest) {
    arithmetic.mantissa = 10;
    arithmetic.nearest = true;
  }
  return arithmetic;
}

Walked walk(const UnitModel& unit, const Products& products, double depth) {
  const Arithmetic chain;
  switch (unit.summation) {
    case Summation::truncated:
      return Walk(products, cutting(unit)).run(depth);
    case Summation::then_added: {
      Arithmetic half = cutting(unit);
      half.at_once = 16;
      return added_parts(products, half, 32, depth);
    }
    case Summation::split_chains:
      return added_parts(products, chain, std::ceil(depth / 4), depth);
    case Summation::pairwise:
      return tree(products, depth);
    case Summation::even_and_odd:
      return added_parts(products, chain, 16, depth);
    default:
      return Walk(products, chain).run(depth);
  }
}

}  // namespace

ExpectedError expected_error(const UnitModel& unit, std::int64_t depth, RandomOperands operands) {
  const FloatingEnvironment environment(Subnormals::keep);
  const bool plain = unit.operand < UnitFormat::s8 && block_size(unit.operand) == 0 &&
                     unit.result != UnitFormat::f64;
  if (depth <= 0 || !plain) return {};
  const Products products(unit.operand, operands);
  const auto count = static_cast<double>(depth);
  const Walked walked = walk(unit, products, count);
  return {walked.size(products, count), -walked.lost / (count * products.mean_size())};
}

}  // namespace narrowgauge::sim
