// SPDX-License-Identifier: Apache-2.0
// What bench says of made-up rates.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/bench/report.h"
#include "support/json.h"

namespace narrowgauge::cli::bench_rates_text_test {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BenchRow row_of(const std::string& precision, std::vector<double> rates, double loss = 2.302585) {
  BenchRow row{.model = "mobilenet_v2", .precision = precision};
  row.rates = std::move(rates);
  row.losses = {loss};
  return row;
}

TEST(bench_rates, are_median_and_quartiles) {
  const Quartiles odd = quartiles_of({5, 1, 4, 2, 3});
  EXPECT_EQ(odd.lower, 2);
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.upper, 4);
  const Quartiles even = quartiles_of({1, 2, 3, 4});
  EXPECT_EQ(even.lower, 1.75);
  EXPECT_EQ(even.median, 2.5);
  EXPECT_EQ(even.upper, 3.25);
  EXPECT_EQ(quartiles_of({7}).upper, 7);
  EXPECT_TRUE(std::isnan(quartiles_of({}).median));
}

// Nine quiet iterations and one beside a neighbour.
TEST(bench_rates, are_not_moved_by_one_iteration) {
  EXPECT_EQ(spread_text(row_of("f32", {2000, 2010, 1990, 2000, 2000, 100, 2000, 2000, 2000, 2000})),
            "2,000 (2,000-2,000)");
  EXPECT_EQ(spread_text(row_of("f32", {12.34, 12.56})), "12.4 (12.4-12.5)");
  EXPECT_EQ(spread_text(row_of("f32", {})), "-");
}

// The machine grows slower from round to round; bf16 is twice as fast in each, f16 had fewer turns.
TEST(bench_rates, are_compared_round_by_round) {
  const std::vector<BenchRow> rows{row_of("ieee", {100, 10, 1}), row_of("bf16", {200, 20, 2}),
                                   row_of("f16", {150}), row_of("f32", {})};
  EXPECT_EQ(speed_up(rows, rows[1]), 2);
  EXPECT_EQ(speed_up(rows, rows[2]), 1.5);
  EXPECT_TRUE(std::isnan(speed_up(rows, rows[3])));
}

TEST(bench_rates, never_print_what_is_no_number) {
  std::vector<BenchRow> rows{row_of("ieee", {}), row_of("bf16", {}, -std::nan(""))};
  rows.back().losses.clear();
  rows.push_back(row_of("f16", {0.01, 0.02}, std::nan("")));
  for (const std::string& text : {speed_table(rows), memory_table(rows)})
    EXPECT_FALSE(contains(text, "nan")) << text;
}

TEST(bench_rates, say_which_iterations_are_missing) {
  BenchRequest request;
  for (const char* model : {"mlp", "lenet"}) {
    NetworkFlags flags;
    flags.model = model;
    add_network(request, choose_network(flags));
  }
  request.task.precisions = {"ieee", "f16"};
  BenchOutcome outcome;
  outcome.rows = {row_of("ieee", {1, 2, 3, 4}), row_of("f16", {1, 2, 3})};
  for (BenchRow& row : outcome.rows) row.model = "mlp";
  outcome.stopped = true;
  const auto said = [&] {
    const auto json = testing_json::Json::parse(outcome_json(request, outcome).line());
    return json.at("remarks").dump();
  };
  EXPECT_TRUE(contains(said(), "interrupted: mlp 3 to 4 of 10 iterations; lenet none")) << said();
  outcome.stopped = false;
  EXPECT_FALSE(contains(said(), "interrupted: ")) << said();
}

TEST(bench_rates, fit_eighty_columns) {
  std::vector<BenchRow> rows;
  for (const char* precision : {"ieee", "bf16"})
    rows.push_back(row_of(precision, {123456, 234567, 345678}, 1e30));
  for (const std::string& text : {speed_table(rows), memory_table(rows)})
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
         at = end + 1)
      EXPECT_LE(end - at, 80u) << text;
}

}  // namespace
}  // namespace narrowgauge::cli::bench_rates_text_test
