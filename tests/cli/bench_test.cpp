// SPDX-License-Identifier: Apache-2.0
// bench: what it prints, and that it refuses what makes no sense before it works.
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "cli/fake_python.h"
#include "cli/program.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::bench_test {
namespace {

using testing_json::Json;

Words bench(const Words& more) {
  Words words{"bench", "--iterations", "2", "--batches", "1", "--batch", "8"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Json> events(const Result& result) {
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  std::vector<Json> lines;
  std::istringstream in(result.out);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

Json answer(const Words& more) {
  Words words = bench(more);
  words.emplace_back("--json");
  const std::vector<Json> lines = events(run(words));
  return lines.empty() ? Json{} : lines.back();
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(bench, prints_a_row_for_each_model_and_precision_in_eighty_columns) {
  const Result result = run(bench({"--model", "mlp,resnet20"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* part : {"images/s (quartiles)", "speed-up", "first loss", "activations",
                           "largest batch", "kernels", "1.00x", "own", "1x32x32"})
    EXPECT_TRUE(contains(result.out, part)) << part << '\n' << result.out;
  for (const char* row :
       {"\nmlp       ieee", "\nresnet20  ieee", "\n          f32", "\n          bf16"})
    EXPECT_TRUE(contains(result.out, row)) << row << '\n' << result.out;
  EXPECT_LE(longest_line(result.out), 80u) << result.out;
}

TEST(bench, says_on_a_terminal_where_it_is) {
  if (!has_terminals()) GTEST_SKIP() << "no terminals here";
  const Result result = run(bench({"--model", "mlp"}), {.columns = 80});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "mlp  bf16  batch 8  iteration 2/2")) << result.out;
}

TEST(bench, tells_each_iteration_and_ends_with_all_runs) {
  Words words = bench({"--model", "mlp", "--precision", "f32,bf16", "--json"});
  const std::vector<Json> lines = events(run(words));
  ASSERT_EQ(lines.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lines[i].at("event"), "iteration");
    EXPECT_EQ(lines[i].at("iteration"), i / 2 + 1);
    EXPECT_GT(lines[i].at("samples_per_second").get<double>(), 0);
  }
  EXPECT_EQ(lines.back().at("event"), "done");
  ASSERT_EQ(lines.back().at("runs").size(), 2u);
  for (const Json& row : lines.back().at("runs")) {
    ASSERT_EQ(row.at("iterations").size(), 2u);
    const double first = row.at("iterations")[0], second = row.at("iterations")[1];
    EXPECT_NEAR(row.at("samples_per_second").get<double>(), (first + second) / 2, 1e-6 * first);
    const double apart = std::abs(first - second);
    EXPECT_NEAR(row.at("quartiles")[0].get<double>(), std::min(first, second) + apart / 4,
                1e-6 * first);
    EXPECT_NEAR(row.at("quartiles")[1].get<double>(), std::max(first, second) - apart / 4,
                1e-6 * first);
    EXPECT_EQ(row.at("steps"), 4);
    EXPECT_GT(row.at("largest_batch"), 8);
    EXPECT_FALSE(row.at("kernels").empty());
  }
}

TEST(bench, precisions_take_turns) {
  const std::vector<Json> lines =
      events(run(bench({"--model", "mlp", "--precision", "bf16,f32", "--json"})));
  std::vector<std::string> order;
  for (const Json& line : lines)
    if (line.at("event") == "iteration") order.push_back(line.at("precision"));
  EXPECT_EQ(order, (std::vector<std::string>{"bf16", "f32", "f32", "bf16"}));
}

TEST(bench, precisions_begin_with_the_same_weights_and_batch) {
  const Json runs =
      answer({"--model", "lenet", "--precision", "ieee,f32,dfp16,bf16,f16"}).at("runs");
  ASSERT_EQ(runs.size(), 5u);
  const double ieee = runs[0].at("first_loss");
  EXPECT_GT(ieee, 1.5);
  for (const Json& row : runs) {
    EXPECT_NEAR(row.at("first_loss").get<double>() / ieee - 1, row.at("loss_difference"), 1e-9);
    const bool wide = row.at("precision") != "bf16" && row.at("precision") != "f16";
    EXPECT_LT(std::abs(row.at("loss_difference").get<double>()), wide ? 1.5e-4 : 0.01);
  }
  const Json again = answer({"--model", "lenet", "--precision", "ieee"}).at("runs");
  EXPECT_EQ(again[0].at("first_loss"), ieee);
  const Json other = answer({"--model", "lenet", "--precision", "ieee", "--seed", "2"}).at("runs");
  EXPECT_NE(other[0].at("first_loss"), ieee);
}

TEST(bench, speed_up_is_over_ieee_or_else_over_f32) {
  const Json all = answer({"--model", "mlp", "--precision", "f32,ieee,bf16"}).at("runs");
  const Json two = answer({"--model", "mlp", "--precision", "bf16,f32"}).at("runs");
  // The mean ratio of two rounds, each with the base of the same round.
  const auto ratio = [](const Json& row, const Json& base) {
    double sum = 0;
    for (std::size_t round = 0; round < 2; ++round)
      sum += row.at("iterations")[round].get<double>() / base.at("iterations")[round].get<double>();
    return sum / 2;
  };
  for (const Json& row : all)
    EXPECT_NEAR(row.at("speed_up").get<double>(), ratio(row, all[1]), 1e-9);
  for (const Json& row : two)
    EXPECT_NEAR(row.at("speed_up").get<double>(), ratio(row, two[1]), 1e-9);
  const Result table = run(bench({"--model", "mlp", "--precision", "bf16,f32"}));
  EXPECT_TRUE(contains(table.out, "against f32")) << table.out;
}

TEST(bench, memory_is_that_of_info) {
  const Json row = answer({"--model", "lenet", "--precision", "bf16"}).at("runs")[0];
  const Result info = run({"info", "--model", "lenet", "--batch", "8", "--json"});
  EXPECT_EQ(row.at("activation_bytes"),
            Json::parse(info.out).at("training_memory").at("bf16").at("activation_bytes"));
}

TEST(bench, roofline_counts_the_work_of_lenet) {
  Words words{"--model", "lenet", "--precision", "ieee", "--roofline"};
  const Json last = answer(words);
  const Json& found = last.at("runs")[0].at("roofline");
  // Multiply-adds of an image, forward; convolutions over 28x28 and 14x14 places.
  constexpr double conv1 = 28. * 28 * 16 * 25, conv2 = 14. * 14 * 32 * 16 * 25;
  constexpr double linear = 1568. * 128 + 128. * 10;
  // Nobody wants the gradient of the images.
  constexpr double expected = 2 * 8 * (2 * conv1 + 3 * conv2 + 3 * linear);
  EXPECT_NEAR(found.at("total").at("flops").get<double>(), expected, 1e-6 * expected);
  double milliseconds = 0, flops = 0, bytes = 0;
  for (const Json& group : found.at("groups")) {
    milliseconds += group.at("milliseconds").get<double>();
    flops += group.at("flops").get<double>();
    bytes += group.at("bytes").get<double>();
    EXPECT_GT(group.at("bound_milliseconds").get<double>(), 0) << group.at("name");
    if (group.at("name") == "convolution") {
      EXPECT_NEAR(group.at("flops").get<double>(), 2 * 8 * (conv1 + conv2), 1);
    }
  }
  const Json& total = found.at("total");
  EXPECT_NEAR(milliseconds, total.at("milliseconds").get<double>(), 1e-6 * milliseconds);
  EXPECT_NEAR(flops, total.at("flops").get<double>(), 1e-6 * flops);
  EXPECT_NEAR(bytes, total.at("bytes").get<double>(), 1e-6 * bytes);
  EXPECT_LE(milliseconds, found.at("step_milliseconds").get<double>());
  const double rate = last.at("machine").at("f32_gflops");
  const double copy = last.at("machine").at("memory_bytes_per_second");
  const double bound = 1e3 * (flops / (rate * 1e9) + bytes / copy);
  EXPECT_NEAR(total.at("bound_milliseconds").get<double>(), bound, 1e-3 * bound);
}

TEST(bench, roofline_knows_the_bound_of_any_plan) {
  const Json last = answer({"--model", "resnet20", "--precision", "bf16", "--roofline"});
  const Json& found = last.at("runs")[0].at("roofline");
  const double fused = found.at("fused_bytes"), bytes = found.at("total").at("bytes");
  EXPECT_GT(fused, 0.2 * bytes);
  EXPECT_LT(fused, bytes);
  const double memory = last.at("machine").at("memory_bytes_per_second");
  const double less = 1e3 * (bytes - fused) / memory;
  EXPECT_NEAR(found.at("fused_bound_milliseconds").get<double>(),
              found.at("total").at("bound_milliseconds").get<double>() - less, 1e-6 * less);
}

TEST(bench, kernels_times_each_distinct_contraction_once) {
  const Json last = answer({"--model", "lenet", "--precision", "ieee,bf16", "--kernels"});
  ASSERT_EQ(last.at("runs").size(), 2u);
  constexpr double conv1 = 28. * 28 * 16 * 25, conv2 = 14. * 14 * 32 * 16 * 25;
  constexpr double linear = 1568. * 128 + 128. * 10;
  constexpr double expected = 2 * 8 * (2 * conv1 + 3 * conv2 + 3 * linear);
  for (const Json& row : last.at("runs")) {
    double flops = 0, milliseconds = 0;
    for (const Json& each : row.at("contractions")) {
      const double count = each.at("count");
      flops += count * each.at("flops").get<double>();
      milliseconds += count * each.at("milliseconds").get<double>();
      EXPECT_GT(each.at("of_peak").get<double>(), 0);
      EXPECT_NE(each.at("kernel"), "");
    }
    EXPECT_NEAR(flops, expected, 1e-6 * expected);
    EXPECT_NEAR(row.at("flops").get<double>(), expected, 1e-6 * expected);
    EXPECT_NEAR(row.at("milliseconds").get<double>(), milliseconds, 1e-6 * milliseconds);
  }
  const Result table = run(bench({"--model", "lenet", "--precision", "ieee", "--kernels"}));
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* part : {"lenet ieee", "conv2 dx", "conv1 dw", "of peak", "all, by count"})
    EXPECT_TRUE(contains(table.out, part)) << part << '\n' << table.out;
  EXPECT_LE(longest_line(table.out), 80u) << table.out;
}

TEST(bench, auto_is_one_of_the_others_and_says_why) {
  const Json last = answer({"--model", "lenet", "--precision", "auto"});
  EXPECT_EQ(last.at("runs")[0].at("precision"), "auto");
  bool said = false;
  for (const std::string line : last.at("remarks")) said |= line.starts_with("lenet auto: ");
  EXPECT_TRUE(said);
}

TEST(bench, roofline_is_a_table_for_each_precision) {
  const Result result =
      run(bench({"--model", "resnet20", "--precision", "f32,bf16", "--roofline"}));
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"resnet20 f32 ", "resnet20 bf16 ", "convolution", "its data gradient",
                           "its weight gradient", "normalisation", "elementwise", "pooling", "loss",
                           "update", "all kernels", "whole step", "most fused plan", "GFLOP/s",
                           "GB/s", "of bound", "moved in a step"})
    EXPECT_TRUE(contains(result.out, part)) << part << '\n' << result.out;
  EXPECT_LE(longest_line(result.out), 80u) << result.out;
}

// Whether every element is closed in its turn; text and attributes hold no angle brackets.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  bool any = false;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos || xml.find('<', at + 1) < end) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const bool closes = tag.starts_with('/');
    const std::string name = tag.substr(closes, tag.find(' ') - closes);
    if (closes && (open.empty() || open.back() != name)) return false;
    if (closes) open.pop_back();
    if (!closes && !tag.ends_with('/')) open.push_back(name);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    any = true;
  }
  return any && open.empty();
}

TEST(bench, plots_a_bar_for_each_row) {
  testing_files::TemporaryFolder folder;
  const std::string path = folder / "bench.svg";
  const Result result = run(bench({"--model", "mlp,lenet", "--plot", path}));
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string svg = testing_files::read_file(path);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg;
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  std::size_t bars = 0;
  for (std::size_t at = svg.find("<rect class=\"bar"); at != std::string::npos;
       at = svg.find("<rect class=\"bar", at + 1))
    ++bars;
  EXPECT_EQ(bars, 8u + 4u);  // and the legend's
  for (const char* part : {">mlp<", ">lenet<", ">bf16<", ">1.00x<", "prefers-color-scheme: dark"})
    EXPECT_TRUE(contains(svg, part)) << part;
}

TEST(bench, a_plot_that_cannot_be_written_ends_it_before_any_work) {
  testing_files::TemporaryFolder folder;
  for (const std::string& path : {folder / "no/such/bench.svg", folder / "."}) {
    const Result result = run(bench({"--model", "mlp", "--plot", path}));
    EXPECT_EQ(result.code, 4) << result.err;
    EXPECT_TRUE(contains(result.err, path)) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

// A program that answers as torch_steps.py does: half a second for whatever is asked, or two in the
// layout SLOW, and the losses of a layout's steps from LOSSES.
class AgainstTorch : public testing::Test {
 protected:
  Result against(const Words& more,
                 const std::vector<std::pair<std::string, std::string>>& variables = {}) {
    return python_.run_with(bench({"--model", "mlp", "--against", "torch"}), more, variables);
  }

  FakePython python_{R"sh(#!/bin/sh
model='{"model":"mlp"}' torch='{"torch":"9.8.7"}' losses='1 1 1'
echo "${FIRST:-$torch}"
while read -r command precision layout count; do
  if [ "$command" = open ]; then
    echo "${OPENED:-$model}"
    continue
  fi
  eval "step=\$((\${$layout:-0} + 1)) $layout=\$step"
  loss=$(echo "${LOSSES:-$losses}" | cut -d ' ' -f $step)
  seconds=0.5
  [ "$layout" != "$SLOW" ] || seconds=2
  echo "{\"seconds\":$seconds,\"losses\":[${loss:-1}]}"
done
)sh"};
};

TEST_F(AgainstTorch, ratios_are_of_rounds_and_other_losses_end_with_7) {
  const Result result = against({"--precision", "f32,f16", "--json"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_TRUE(contains(result.err, "the networks are not the same")) << result.err;
  const Json done = Json::parse(last_line(result.out));
  EXPECT_EQ(done.at("torch_version"), "9.8.7");
  EXPECT_EQ(done.at("torch").size(), 4u);
  for (const Json& row : done.at("torch")) EXPECT_EQ(row.at("samples_per_second"), 16);
  for (const Json& row : done.at("runs"))
    EXPECT_NEAR(row.at("torch_ratio").get<double>(),
                row.at("samples_per_second").get<double>() / 16, 1e-9);
  EXPECT_EQ(done.at("runs")[0].at("torch_precision"), "f32");
  EXPECT_EQ(done.at("runs")[1].at("torch_precision"), "f32");
}

TEST_F(AgainstTorch, the_same_losses_are_a_table) {
  const Result found = against({"--precision", "f32", "--json"});
  const Json losses = Json::parse(last_line(found.out)).at("runs")[0].at("losses");
  ASSERT_EQ(losses.size(), 3u);
  const auto text = [&](std::size_t step) { return losses[step].dump(); };
  const Result result =
      against({"--precision", "f32"}, {{"LOSSES", text(0) + ' ' + text(1) + ' ' + text(2)}});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "quartiles")) << result.out;
  EXPECT_TRUE(contains(result.out, "torch 9.8.7")) << result.out;
  EXPECT_LE(longest_line(result.out), 80u) << result.out;
}

TEST_F(AgainstTorch, only_what_can_stand_beside_ours_takes_turns) {
  const Json one = Json::parse(last_line(against({"--precision", "bf16", "--json"}).out));
  ASSERT_EQ(one.at("torch").size(), 2u);
  for (const Json& row : one.at("torch")) EXPECT_EQ(row.at("precision"), "bf16");
  const Result slow = against({"--precision", "bf16", "--json"}, {{"SLOW", "contiguous"}});
  const Json rest = Json::parse(last_line(slow.out)).at("torch");
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].at("layout"), "channels_last");
}

TEST_F(AgainstTorch, what_it_lacks_is_one_line) {
  const auto failed = [&](const Result& result, int code, const char* part) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
    EXPECT_EQ(result.out, "");
  };
  failed(against({}, {{"FIRST", R"({"error":"python: No module named 'torch'"})"}}), 2,
         "No module named 'torch'");
  failed(against({}, {{"OPENED", R"({"error":"torch has no mlp here"})"}}), 3, "no mlp");
  failed(against({}, {{"FIRST", "Traceback"}}), 6, "ended early");
  failed(run(bench({"--model", "mlp", "--against", "torch"}),
             {.variables = {{"NARROWGAUGE_TORCH_PYTHON", "/no/python"}}}),
         2, "/no/python cannot be started");
  failed(run(bench({"--model", "mlp", "--against", "jax"})), 2, "expected torch");
}

// A shell's background program ignores SIGINT, so the other signal that asks to stop is sent.
TEST(bench, interrupted_it_prints_what_was_done) {
  testing_files::TemporaryFolder folder;
  const std::string out = folder / "out";
  const std::string script = '"' + program_path() +
                             "\" bench --model mlp --batch 8 --iterations 1000000 --json >" + out +
                             " 2>&1 & for i in $(seq 600); do grep -q '\"iteration\":6' " + out +
                             " && break; sleep 0.05; done; kill -TERM $!; wait $!";
  EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 143);
  std::istringstream lines(testing_files::read_file(out));
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (!contains(line, "\"event\":\"interrupted\"")) continue;
    found = true;
    const Json row = Json::parse(line).at("runs").at(0);
    EXPECT_GE(row.at("iterations").size(), 5u);
    EXPECT_FALSE(row.at("kernels").empty());
    EXPECT_TRUE(contains(Json::parse(line).at("remarks").at(1), "interrupted: mlp "));
  }
  EXPECT_TRUE(found);
}

// A handler in a thread that computes could break the heap (cli/interrupt.h).
TEST(bench, one_thread_alone_takes_interrupts) {
  testing_files::TemporaryFolder folder;
  const std::string out = folder / "out", masks = folder / "masks";
  const std::string script =
      '"' + program_path() + "\" bench --model mlp --batch 8 --iterations 1000000 --json >" + out +
      " 2>&1 & for i in $(seq 600); do grep -q '\"iteration\":1' " + out +
      " && break; sleep 0.05; done; grep -h SigBlk /proc/$!/task/*/status >" + masks +
      "; kill -TERM $!; wait $!";
  EXPECT_EQ(WEXITSTATUS(std::system(script.c_str())), 143);
  constexpr std::uint64_t terminate = std::uint64_t{1} << 14;  // bit of SIGTERM, which is 15
  std::istringstream lines(testing_files::read_file(masks));
  int threads = 0, open = 0;
  std::string label;
  for (std::uint64_t blocked = 0; lines >> label >> std::hex >> blocked; ++threads)
    open += (blocked & terminate) == 0;
  EXPECT_GE(threads, 2);
  EXPECT_EQ(open, 1);
}

struct BadBench {
  const char* name;
  Words words;
  int code;
  std::string part;
};

class BadBenches : public testing::TestWithParam<BadBench> {};

TEST_P(BadBenches, are_one_clear_line_before_any_work) {
  const Result result = run(GetParam().words);
  EXPECT_EQ(result.code, GetParam().code) << result.err;
  EXPECT_TRUE(contains(result.err, GetParam().part)) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadBenches,
    testing::Values(
        BadBench{"NoModel", {"bench"}, 2, "--model is required"},
        BadBench{"UnknownModel", bench({"--model", "lenet,resnet21"}), 3, "mean resnet20?"},
        BadBench{"ModelTwice", bench({"--model", "mlp,mlp"}), 2, "named twice"},
        BadBench{"ModelMissing", bench({"--model", "mlp,"}), 2, "commas"},
        BadBench{"UnknownPrecision", bench({"--model", "mlp", "--precision", "f33"}), 2, "f33"},
        BadBench{"KernelsAgainstTorch", bench({"--model", "mlp", "--kernels", "--roofline"}), 2,
                 "--kernels"},
        BadBench{"NoIterations", bench({"--model", "mlp", "--iterations", "0"}), 2, "from 1 on"},
        BadBench{"NoBatches", bench({"--model", "mlp", "--batches", "0"}), 2, "from 1 on"},
        BadBench{"ImageIsNoShape", bench({"--model", "mlp", "--image", "8x8"}), 2, "3x32x32"},
        BadBench{"ImageTooSmall", bench({"--model", "lenet", "--image", "1x4x4"}), 3, "4x4"},
        BadBench{"TooManyThreads", bench({"--model", "mlp", "--threads", "5000"}), 2, "4096"},
        BadBench{"NoSequence", bench({"--model", "mlp", "--sequence", "8"}), 2, "not tokens"},
        BadBench{"BatchDoesNotFit",
                 {"bench", "--model", "mlp", "--batch", "900000000"},
                 6,
                 "can be had; batch "}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace narrowgauge::testing_cli::bench_test
