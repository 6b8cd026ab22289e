// SPDX-License-Identifier: Apache-2.0
// Axes with round numbers.
#pragma once

#include <string>
#include <vector>

namespace narrowgauge::cli {

enum class Scale {
  automatic,  // linear, or decades where positive values span more than one and a half
  linear,
  decades,
  doublings  // powers of two
};

class Axis {
 public:
  // One that holds `low` to `high`, which must be finite, with about so many round numbers.
  static Axis around(double low, double high, Scale scale = Scale::automatic, int numbers = 5);
  // A linear one that ends just where the values do.
  static Axis within(double low, double high, int numbers = 5);

  double low() const { return low_; }
  double high() const { return high_; }
  Scale scale() const { return scale_; }
  const std::vector<double>& ticks() const { return ticks_; }
  // The place of a value, from 0 at the lower end to 1 at the upper.
  double place(double value) const;

 private:
  void choose_decades(double low, double high, int numbers);
  void choose_doublings(double low, double high, int numbers);

  double low_ = 0, high_ = 1;
  Scale scale_ = Scale::linear;
  std::vector<double> ticks_;
};

// "0.05", "65,536", "1e-6"
std::string tick_text(double value);

}  // namespace narrowgauge::cli
