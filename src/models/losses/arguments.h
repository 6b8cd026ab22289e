// SPDX-License-Identifier: Apache-2.0
// The numbers behind the name of a loss: "(gamma=2, weights=[1, 3])".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge {

class LossArguments {
 public:
  // `text` is "" or in parentheses; throws UsageError where it is neither or is no list of numbers.
  LossArguments(std::string_view loss, std::string_view text);

  // `usual` where it is not given.
  double number(const std::string& name, double usual);
  // The number or the list; empty where it is not given.
  std::vector<double> numbers(const std::string& name);
  // Throws UsageError for what was given and not asked for.
  void require_all_taken() const;

 private:
  void read(std::string_view argument);

  std::string loss_;
  std::map<std::string, std::vector<double>> given_;
  std::vector<std::string> known_;  // names that were asked for
};

}  // namespace narrowgauge
