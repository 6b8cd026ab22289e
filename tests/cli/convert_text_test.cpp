// SPDX-License-Identifier: Apache-2.0
// convert: what it says of engines that this machine need not make.
#include <gtest/gtest.h>

#include "cli/convert/report.h"

namespace narrowgauge::cli::convert_text_test {
namespace {

const ConvertedNames bert{"bert", "", "", "mse", ""};

// An engine on bytes with so many products of activations in bf16, and one product that loses much.
ConversionReport mixed(int products) {
  ConversionReport report;
  report.precision = EnginePrecision::int8;
  report.ops.push_back({"query", "MatMul", "int8", "the budget holds", {}});
  report.ops.push_back({"scores", "Gemm", "f32", "the drop would be above the budget", 0.03});
  for (int i = 0; i < products; ++i)
    report.ops.push_back({"attention" + std::to_string(i), "ng.Attention", "bf16",
                          "it has no fixed weights, and bf16 keeps the budget"});
  return report;
}

int lines_with(const std::string& text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(convert_text, says_what_stays_wider_once) {
  const std::string text = conversion_text(mixed(2), bert);
  EXPECT_NE(text.find("convolutions and products: 1 of 4 in int8"), std::string::npos) << text;
  EXPECT_EQ(lines_with(text, "ng.Attention"), 2) << text;
  EXPECT_EQ(lines_with(text, "scores"), 1) << text;  // among the sensitive ones
  EXPECT_EQ(lines_with(text, "more, which"), 0) << text;
}

TEST(convert_text, lists_few_of_many) {
  const std::string text = conversion_text(mixed(12), bert);
  EXPECT_EQ(lines_with(text, "ng.Attention"), 5) << text;
  EXPECT_NE(text.find("and 7 more, which --json lists"), std::string::npos) << text;
}

TEST(convert_text, is_short_where_nothing_stays_wider) {
  ConversionReport report = mixed(0);
  report.ops.pop_back();
  EXPECT_EQ(conversion_text(report, bert).find("stays wider"), std::string::npos);
}

TEST(convert_text, says_that_a_budget_was_not_measured) {
  ConversionReport report = mixed(0);
  EXPECT_EQ(conversion_text(report, bert).find("\nbudget"), std::string::npos);
  report.max_drop = 0.5;
  EXPECT_NE(
      conversion_text(report, bert).find("\nbudget          not measured: samples are needed"),
      std::string::npos);
  report.validation_samples = 8;
  EXPECT_NE(conversion_text(report, bert).find("0.5 % of the output: kept"), std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::cli::convert_text_test
