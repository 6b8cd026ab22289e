// SPDX-License-Identifier: Apache-2.0
// The table of train --compare, of made-up runs.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "cli/program.h"
#include "cli/tiny_data.h"
#include "cli/training/compare.h"

namespace narrowgauge::cli::compare_text_test {
namespace {

using testing_cli::contains;

TrainingOutcome outcome_of(const std::string& precision, double rate, double first_loss) {
  TrainingOutcome outcome;
  outcome.precision = precision;
  if (precision == "f16" || precision == "bf16") outcome.narrow = *parse_dtype(precision);
  outcome.fit.samples_per_second = rate;
  outcome.fit.first_loss = outcome.fit.final_loss = first_loss;
  outcome.fit.test = {.loss = 1, .accuracy = 1, .samples = 10000};
  outcome.fit.steps = 1'000'000;
  outcome.activation_bytes = std::int64_t{1023} << 20;
  return outcome;
}

Trainer::KernelChoice contraction(bool widened) {
  Trainer::KernelChoice kernel;
  kernel.facts.widened = widened;
  kernel.flops = kernel.milliseconds = 1;
  return kernel;
}

void expect_to_fit(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 80u) << line;
  for (const char* untrue : {"nan", "inf"}) EXPECT_FALSE(contains(text, untrue)) << text;
}

TEST(compare, fits_eighty_columns_with_any_figures) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<TrainingOutcome> runs{
      outcome_of("ieee", 0.01, 2.302585), outcome_of("f32", 9'999'999, 1e35),
      outcome_of("f16", 123'456, 999.9), outcome_of("bf16", none, none)};
  expect_to_fit(comparison_table(runs));
  runs[2].fit.skipped_steps = 999'999;
  runs[2].fit.samples_per_second = 0.01;
  for (const bool widened : {true, false}) {
    runs[2].kernels.assign(1, contraction(false));
    runs[2].kernels.push_back(contraction(widened));
    for (const std::string& line : comparison_remarks(runs)) expect_to_fit(line);
  }
}

TEST(compare, measures_by_ieee) {
  const std::string text = comparison_table(
      {outcome_of("f32", 200, 2), outcome_of("ieee", 100, 2), outcome_of("bf16", 300, 2)});
  for (const char* part :
       {"f32              200     2.00x", "ieee             100     1.00x", "3.00x"})
    EXPECT_TRUE(contains(text, part)) << text;
}

TEST(compare, says_in_one_sentence_why_f16_is_no_faster) {
  TrainingOutcome narrow = outcome_of("f16", 100, 2);
  narrow.kernels = {contraction(true)};
  EXPECT_EQ(why_not_faster(narrow),
            "its contractions are widened to f32 on this CPU: it saves memory, not time");
}

TEST(compare, tells_of_skipped_steps_below_the_table) {
  TrainingOutcome narrow = outcome_of("f16", 100, 2);
  narrow.fit.skipped_steps = 2;
  EXPECT_EQ(comparison_remarks({narrow}).at(0),
            "f16: 2 of 1,000,000 steps were skipped, since gradients overflowed");
}

}  // namespace
}  // namespace narrowgauge::cli::compare_text_test
